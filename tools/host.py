"""The host entry ``openbuffer.tools.host``: tools that touch files, processes or the web; no neutral entry (T9)."""

from typing import Final

from .adapters.brave_search import BraveSearch
from .builtin.ask_user_question import ask_user_question, create_ask_user_question_tool
from .builtin.codebase_retrieval import create_retrieval_tool
from .builtin.computer import create_computer_tool
from .builtin.delete import create_delete_tool
from .builtin.edit import create_edit_tool
from .builtin.glob import create_glob_tool
from .builtin.grep import create_grep_tool
from .builtin.list_dir import create_list_dir_tool
from .builtin.read import create_read_tool
from .builtin.shell import create_bash_tool, create_shell_tool
from .builtin.tasks import create_task_create_tool, create_task_list_tool, create_task_update_tool
from .builtin.tool_search import create_tool_search_tool, with_tool_search
from .builtin.web_fetch import create_web_fetch_tool, web_fetch
from .builtin.web_search import create_web_search_tool
from .builtin.write import create_write_tool
from .retrieval.index import build_repo_map_index, update_repo_map_index
from .retrieval.index_format import deserialize_repo_map_index, serialize_repo_map_index
from .retrieval.repo_map import RepoMapRetrievalAdapter
from .support.http_guard_settings import WebSettings

__all__ = [
    "RepoMapRetrievalAdapter",
    "WebSettings",
    "ask_user_question",
    "build_repo_map_index",
    "create_ask_user_question_tool",
    "create_bash_tool",
    "create_computer_tool",
    "create_delete_tool",
    "create_edit_tool",
    "create_glob_tool",
    "create_grep_tool",
    "create_list_dir_tool",
    "create_read_tool",
    "create_retrieval_tool",
    "create_shell_tool",
    "create_task_create_tool",
    "create_task_list_tool",
    "create_task_update_tool",
    "create_tool_search_tool",
    "create_web_fetch_tool",
    "create_web_search_tool",
    "create_write_tool",
    "deserialize_repo_map_index",
    "serialize_repo_map_index",
    "update_repo_map_index",
    "web_fetch",
    "web_search",
    "with_tool_search",
]

web_search: Final = create_web_search_tool(provider=BraveSearch())
"""Ready-made, with Brave: without ``BRAVE_API_KEY`` in the environment it answers that this is to be set (T7)."""
