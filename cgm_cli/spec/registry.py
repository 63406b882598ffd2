"""Every block and template by the name it has in a spec. A new one is one file and one line here.

The value is "module:Class"; the module is imported when the kind is first looked up, so that listing names costs
nothing. Each class has a nested `Spec` (see cgm_cli.spec.fields.BlockSpec) whose `build(...)` makes an instance.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal

DOMAINS = {
    "simplex": "cgm_cli.blocks.domains.simplex:Simplex",
    "l1-ball": "cgm_cli.blocks.domains.norm_balls:L1Ball",
    "l2-ball": "cgm_cli.blocks.domains.norm_balls:L2Ball",
    "linf-ball": "cgm_cli.blocks.domains.norm_balls:LinfBall",
    "box": "cgm_cli.blocks.domains.box:Box",
    "group-l1-ball": "cgm_cli.blocks.domains.group_ball:GroupL1Ball",
    "latent-group-ball": "cgm_cli.blocks.domains.latent_group_ball:LatentGroupBall",
    "nuclear-ball": "cgm_cli.blocks.domains.nuclear:NuclearBall",
    "psd": "cgm_cli.blocks.domains.psd:PSDTrace",
    "psd-blocks": "cgm_cli.blocks.domains.psd_blocks:PSDBlocks",
    "fantope": "cgm_cli.blocks.domains.fantope:Fantope",
    "fantope-face": "cgm_cli.blocks.domains.fantope_face:FantopeFace",
    "birkhoff": "cgm_cli.blocks.domains.birkhoff:Birkhoff",
    "chain-marginals": "cgm_cli.blocks.domains.chain_marginals:ChainMarginals",
    "polytope": "cgm_cli.blocks.domains.polytope:Polytope",
    "product": "cgm_cli.blocks.domains.product:Product",
}
LOSSES = {
    "linear": "cgm_cli.blocks.losses.linear:Linear",
    "quadratic": "cgm_cli.blocks.losses.quadratic:Quadratic",
    "factored-quadratic": "cgm_cli.blocks.losses.factored_quadratic:FactoredQuadratic",
    "least-squares": "cgm_cli.blocks.losses.least_squares:LeastSquares",
    "logistic": "cgm_cli.blocks.losses.logistic:Logistic",
    "log-det": "cgm_cli.blocks.losses.log_det:LogDet",
}
PENALTIES = {
    "l1": "cgm_cli.blocks.penalties.norms:L1Norm",
    "l2": "cgm_cli.blocks.penalties.norms:L2Norm",
    "linf": "cgm_cli.blocks.penalties.norms:LinfNorm",
    "max": "cgm_cli.blocks.penalties.maximum:MaxCoordinate",
    "group-norm": "cgm_cli.blocks.penalties.group_norm:GroupNorm",
    "hinge": "cgm_cli.blocks.penalties.hinge:Hinge",
    "huber": "cgm_cli.blocks.penalties.huber:Huber",
    "epsilon-insensitive": "cgm_cli.blocks.penalties.epsilon_insensitive:EpsilonInsensitive",
    "quantile": "cgm_cli.blocks.penalties.quantile:Quantile",
    "support": "cgm_cli.blocks.penalties.support_of_set:SupportOfSet",
}
SETS = {
    "equals": "cgm_cli.blocks.penalties.equals:Equals",
    "box": "cgm_cli.blocks.penalties.box:BoxSet",
    "nonnegative": "cgm_cli.blocks.penalties.box:Nonnegative",
    "l1-ball": "cgm_cli.blocks.penalties.balls:L1BallSet",
    "l2-ball": "cgm_cli.blocks.penalties.balls:L2BallSet",
    "simplex": "cgm_cli.blocks.penalties.simplex:SimplexSet",
    "in-domain": "cgm_cli.blocks.penalties.in_domain:InDomain",
}
MAPS = {
    "identity": "cgm_cli.blocks.maps.identity:Identity",
    "matrix": "cgm_cli.blocks.maps.matrix:MatrixMap",
    "sampling": "cgm_cli.blocks.maps.sampling:Sampling",
    "congruence": "cgm_cli.blocks.maps.congruence:Congruence",
    "kronecker": "cgm_cli.blocks.maps.kronecker:Kronecker",
    "row-sums": "cgm_cli.blocks.maps.row_sums:RowSums",
    "column-sums": "cgm_cli.blocks.maps.column_sums:ColumnSums",
    "diagonal": "cgm_cli.blocks.maps.diagonal:Diagonal",
    "differences": "cgm_cli.blocks.maps.differences:Differences",
    "convolution": "cgm_cli.blocks.maps.convolution:Convolution",
    "stack": "cgm_cli.blocks.maps.stack:Stack",
    "block": "cgm_cli.blocks.maps.block:Block",
    "block-difference": "cgm_cli.blocks.maps.block_difference:BlockDifference",
    "matrices": "cgm_cli.blocks.maps.matrices:Matrices",
    "quadratic-forms": "cgm_cli.blocks.maps.quadratic_forms:QuadraticForms",
}
TEMPLATES = {
    "kmeans-sdp": "cgm_cli.templates.kmeans_sdp:KMeansSDP",
    "max-cut": "cgm_cli.templates.max_cut:MaxCut",
    "community-detection": "cgm_cli.templates.community_detection:CommunityDetection",
    "minimum-bisection": "cgm_cli.templates.minimum_bisection:MinimumBisection",
    "robust-pca": "cgm_cli.templates.robust_pca:RobustPCA",
    "minimax-ball": "cgm_cli.templates.minimax_ball:MinimaxBall",
    "sparse-regression": "cgm_cli.templates.sparse_regression:SparseRegression",
    "matrix-completion": "cgm_cli.templates.matrix_completion:MatrixCompletion",
    "elastic-net": "cgm_cli.templates.elastic_net:ElasticNet",
    "group-lasso": "cgm_cli.templates.group_lasso:GroupLasso",
    "low-rank-denoising": "cgm_cli.templates.low_rank_denoising:LowRankDenoising",
    "least-absolute-deviations": "cgm_cli.templates.least_absolute_deviations:LeastAbsoluteDeviations",
    "svm": "cgm_cli.templates.svm:SVM",
    "max-affine": "cgm_cli.templates.max_affine:MaxAffine",
    "matrix-game": "cgm_cli.templates.matrix_game:MatrixGame",
    "spectrahedron-game": "cgm_cli.templates.spectrahedron_game:SpectrahedronGame",
    "max-margin": "cgm_cli.templates.max_margin:MaxMargin",
    "covariance-estimation": "cgm_cli.templates.covariance_estimation:CovarianceEstimation",
    "multi-task-regression": "cgm_cli.templates.multi_task_regression:MultiTaskRegression",
    "structured-svm": "cgm_cli.templates.structured_svm:StructuredSVM",
    "standard-sdp": "cgm_cli.templates.standard_sdp:StandardSDP",
    "lovasz-theta": "cgm_cli.templates.lovasz_theta:LovaszTheta",
    "quadratic-assignment": "cgm_cli.templates.quadratic_assignment:QuadraticAssignment",
    "graph-matching": "cgm_cli.templates.graph_matching:GraphMatching",
    "transport": "cgm_cli.templates.transport:Transport",
    "sparse-pca": "cgm_cli.templates.sparse_pca:SparsePCA",
    "nearest-correlation": "cgm_cli.templates.nearest_correlation:NearestCorrelation",
    "kernel-learning": "cgm_cli.templates.kernel_learning:KernelLearning",
    "optimal-power-flow": "cgm_cli.templates.optimal_power_flow:OptimalPowerFlow",
    "phase-retrieval": "cgm_cli.templates.phase_retrieval:PhaseRetrieval",
    "blind-deconvolution": "cgm_cli.templates.blind_deconvolution:BlindDeconvolution",
    "linear-program": "cgm_cli.templates.linear_program:LinearProgram",
}

SMOOTHINGS = {
    "homotopy": "cgm_cli.methods.smoothing.homotopy:Homotopy",
    "constant": "cgm_cli.methods.smoothing.constant:Constant",
    "stochastic-homotopy": "cgm_cli.methods.smoothing.stochastic_homotopy:StochasticHomotopy",
    "sampled-homotopy": "cgm_cli.methods.smoothing.sampled_homotopy:SampledHomotopy",
    "fixed-target": "cgm_cli.methods.smoothing.fixed_target:FixedTarget",
    "none": "cgm_cli.methods.smoothing.none:Subgradient",
}
STEPS = {
    "classic": "cgm_cli.methods.steps.classic:ClassicStep",
    "line-search": "cgm_cli.methods.steps.line_search:LineSearch",
    "capped-line-search": "cgm_cli.methods.steps.capped_line_search:CappedLineSearch",
}
ORACLES = {
    "exact": "cgm_cli.methods.oracles.exact:ExactOracle",
    "fixed": "cgm_cli.methods.oracles.fixed:FixedAccuracy",
    "additive": "cgm_cli.methods.oracles.additive:AdditiveAccuracy",
    "multiplicative": "cgm_cli.methods.oracles.multiplicative:MultiplicativeAccuracy",
}
CORRECTIONS = {
    "none": "cgm_cli.methods.corrections.none:NoCorrection",
    "fully-corrective": "cgm_cli.methods.corrections.fully_corrective:FullyCorrective",
    "local-descent": "cgm_cli.methods.corrections.local_descent:LocalDescent",
    "pairwise": "cgm_cli.methods.corrections.pairwise:Pairwise",
    "away-step": "cgm_cli.methods.corrections.away_step:AwayStep",
    "blended": "cgm_cli.methods.corrections.blended:Blended",
    "accelerated": "cgm_cli.methods.corrections.accelerated:Accelerated",
    "interior-point": "cgm_cli.methods.corrections.interior_point:InteriorPoint",
    "projection-newton": "cgm_cli.methods.corrections.projection_newton:ProjectionNewton",
    "primal-dual": "cgm_cli.methods.corrections.primal_dual:PrimalDual",
    "mixing": "cgm_cli.methods.corrections.mixing:Mixing",
    "splitting": "cgm_cli.methods.corrections.splitting:Splitting",
    "composite-oracle": "cgm_cli.methods.corrections.composite_oracle:CompositeOracle",
    "universal": "cgm_cli.methods.corrections.universal:Universal",
    "block-coordinate": "cgm_cli.methods.corrections.block_coordinate:BlockCoordinate",
    "mirror-prox": "cgm_cli.methods.corrections.mirror_prox:MirrorProx",
    "variance-reduced": "cgm_cli.methods.corrections.variance_reduced:VarianceReduced",
    "constraint-batches": "cgm_cli.methods.corrections.constraint_batches:ConstraintBatches",
    "mini-batches": "cgm_cli.methods.corrections.mini_batches:MiniBatches",
}
DUALS = {
    "none": "cgm_cli.methods.duals.none:NoMultipliers",
    "ascent": "cgm_cli.methods.duals.ascent:DualAscent",
    "multipliers": "cgm_cli.methods.duals.multipliers:MethodOfMultipliers",
    "adopted": "cgm_cli.methods.duals.adopted:AdoptedDuals",
    "diminishing": "cgm_cli.methods.duals.diminishing:DiminishingAscent",
    "inexact": "cgm_cli.methods.duals.inexact:InexactMultipliers",
    "best-response": "cgm_cli.methods.duals.best_response:BestResponse",
}

# Of what a user's own function may make: `{python: "module:function"}`, in place of a `kind` of the family.
PYTHON = {
    "domain": "cgm_cli.blocks.domains.given:GivenDomain",
    "map": "cgm_cli.blocks.maps.given:GivenMap",
}

FAMILIES = {
    "domain": DOMAINS,
    "loss": LOSSES,
    "penalty": PENALTIES,
    "set": SETS,
    "map": MAPS,
    "template": TEMPLATES,
    "smoothing": SMOOTHINGS,
    "step": STEPS,
    "oracle": ORACLES,
    "correction": CORRECTIONS,
    "duals": DUALS,
}

MethodName = Literal[
    "auto",
    "hcgm",
    "cgal",
    "cgm",
    "fw-al",
    "ial",
    "saddle-fw",
    "shcgm",
    "h-1sfw",
    "svrf",
    "upd",
    "gcg",
    "mirror-prox",
    "bcfw",
]

# Presets of the policies above, with the line that `cgm list methods` prints of each.
METHODS: dict[str, str] = {
    "auto": "what suits: primal-dual or accelerated steps where projections onto the domain are cheap; cgal with local "
    "descent over matrices of low rank; else full corrections",
    "hcgm": "homotopy conditional gradient: every non-smooth term is smoothed, less and less (the paper's method)",
    "cgal": "hcgm with dual ascent: an augmented Lagrangian, whose multipliers follow those of the constraints",
    "cgm": "classical conditional gradient (Frank-Wolfe), with a subgradient where a term is not smooth",
    "fw-al": "one searched step on the augmented Lagrangian, then one of the multipliers that diminishes: affine "
    "constraints (Gidel, Pedregosa and Lacoste-Julien 2018)",
    "ial": "inexact augmented Lagrangian: the multipliers move where its gap is small enough: affine constraints (Liu, "
    "Liu and Ma 2019)",
    "saddle-fw": "x and the duals of finite penalties step towards their best responses to each other (Gidel, Jebara "
    "and Lacoste-Julien 2017)",
    "shcgm": "hcgm by mini-batches of rows of the objective, bounded now and then by the whole of it (Locatello, "
    "Yurtsever, Fercoq and Cevher 2019)",
    "h-1sfw": "hcgm by mini-batches of constraints, too (Vladarean, Alacaoglu, Hsieh and Cevher 2020)",
    "svrf": "cgm by mini-batches of rows of the objective, beside a whole gradient now and then: an objective alone "
    "(Hazan and Luo 2016)",
    "upd": "universal primal-dual gradient: searched gradient steps on the dual, for a target accuracy: linear "
    "objectives (Yurtsever, Tran-Dinh and Cevher 2015)",
    "gcg": "generalised conditional gradient: the oracle takes a penalty whole, where that has a closed form (Nesterov "
    "2018; Xu 2017)",
    "mirror-prox": "semi-proximal mirror-prox: extragradient steps on x and the duals of finite penalties, projections "
    "left to the oracle (He and Harchaoui 2015)",
    "bcfw": "block-coordinate Frank-Wolfe: searched steps on one block of a product at a time: a smooth objective "
    "alone (Lacoste-Julien, Jaggi, Schmidt and Pletscher 2013)",
}


@cache
def lookup(family: str, kind: str) -> type[Any]:
    """The class registered as `kind` in `family` (a key of FAMILIES). Raises KeyError for an unknown name."""
    return _loaded(FAMILIES[family][kind])


@cache
def python_spec(family: str) -> type[Any]:
    """The schema of `{python: ...}` in a family of PYTHON."""
    return _loaded(PYTHON[family]).Spec


def _loaded(place: str) -> type[Any]:
    module, name = place.split(":")
    return getattr(import_module(module), name)
