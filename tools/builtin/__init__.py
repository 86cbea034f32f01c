"""The tools, one file each; a tool never imports a tool."""
