"""A hook of MkDocs: what the pages link to outside of docs/ becomes part of the site, and `<v, x>` is no tag.

On GitHub links lead through the repository, `../configs/digits-kmeans.yaml`. On the site docs/ is the root, and the
file stands in it under its path in the repository, `configs/digits-kmeans.yaml`; texts (`../CONTRIBUTING.md`) become
pages. A link to a folder is left as its words.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


class NoTags(Extension):
    """Pages and docstrings have inner products in angle brackets, and no HTML."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.deregister("html_block")
        md.inlinePatterns.deregister("html")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.markdown_extensions.append(NoTags())  # pyright: ignore[reportArgumentType]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is linked to, and what that links to in turn."""
    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    seen = {*waiting, "README.md"}
    while waiting:
        source = waiting.pop()
        for target in _targets(source):
            if target in seen or target.startswith("docs/") or not (ROOT / target).is_file():
                continue
            seen.add(target)
            # Only pages have links that are followed.
            waiting += [target] if target.endswith(".md") else []
            files.append(
                File.generated(config, target, abs_src_path=str(ROOT / target), inclusion=InclusionLevel.NOT_IN_NAV)
            )
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links through the repository become links through the site; comments go, and `\\<` is what it stands for."""
    here = page.file.src_uri
    source = f"docs/{here}" if (ROOT / "docs" / here).is_file() else here

    def moved(match: re.Match[str]) -> str:
        words, link, anchor = match[1], match[2], match[3] or ""
        if ":" in link:
            return match[0]
        target = _target(source, link)
        if (ROOT / target).is_dir():
            return words
        place = "index.md" if target == "README.md" else target.removeprefix("docs/")
        return f"[{words}]({posixpath.relpath(place, posixpath.dirname(here) or '.')}{anchor})"

    return LINK.sub(moved, COMMENT.sub("", markdown).replace("\\<", "<"))


def _targets(source: str) -> list[str]:
    text = (ROOT / source).read_text(encoding="utf-8")
    return [_target(source, match[2]) for match in LINK.finditer(text) if ":" not in match[2]]


def _target(source: str, link: str) -> str:
    """The path in the repository that a link of a text leads to."""
    return posixpath.normpath(str(PurePosixPath(source).parent / link))
