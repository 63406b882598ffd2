"""What happened, for people: run folders read together and shown as tables, figures and pages."""
