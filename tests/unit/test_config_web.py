"""What the configuration says of the web, as the tools of a session take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.config_values import ValueRefusedError, web_address
from openbuffer.bridge.config_web import live_web, search_provider
from openbuffer.bridge.editor_settings import EditorSaid, EditorSettings
from openbuffer.bridge.settings import LiveSettings
from openbuffer.tools.search_provider import SearchNotConfiguredError, SearchRequest
from openbuffer.tools.support.http_guard_settings import WebSettings

if TYPE_CHECKING:
    from pathlib import Path


def settings(tmp_path: Path, **said: Any) -> tuple[LiveSettings, EditorSettings]:
    editor = EditorSettings(EditorSaid(said, trusted=True))
    return LiveSettings(tmp_path / "none.toml", [tmp_path], editor=editor), editor


@pytest.mark.contract("X5", "W1")
def test_hosts_of_the_web_follow_the_settings_and_the_numbers_stay_as_the_tool_tells_them(tmp_path: Path) -> None:
    live, editor = settings(tmp_path, web={"timeout_s": 7, "max_bytes": 1000})
    web = live_web(live)
    assert web is not None
    assert web() == WebSettings(timeout_s=7.0, max_bytes=1000)
    editor.changed({"web": {"timeout_s": 9, "allowed_hosts": ["localhost:1"], "proxy": "http://proxy:1"}})
    live.look()
    now = WebSettings(timeout_s=7.0, max_bytes=1000, allowed_hosts=("localhost:1",), proxy="http://proxy:1")
    assert web() == now
    editor.changed({"web": {"enabled": False}})
    live.look()
    assert web() is None
    assert live_web(settings(tmp_path, web={"enabled": False})[0]) is None


@pytest.mark.contract("X5", "W2")
@pytest.mark.parametrize(
    ("said", "environment", "name"),
    [
        ({}, {}, None),
        ({}, {"BRAVE_API_KEY": " "}, None),
        ({}, {"BRAVE_API_KEY": "key"}, "Brave Search"),
        ({"provider": "brave"}, {}, "Brave Search"),
        ({"enabled": False}, {"BRAVE_API_KEY": "key"}, None),
        ({"provider": "searxng", "url": "http://localhost:8888"}, {}, "SearXNG"),
        ({"provider": "searxng"}, {"BRAVE_API_KEY": "key"}, None),
        ({"url": "http://localhost:8888"}, {}, None),
        ({"url": "http://localhost:8888"}, {"BRAVE_API_KEY": "key"}, "Brave Search"),
        ({"provider": "brave", "url": "http://localhost:8888"}, {"BRAVE_API_KEY": "key"}, "Brave Search"),
    ],
)
def test_somebody_searches_where_the_configuration_is_enough_for_it(
    tmp_path: Path, said: dict[str, Any], environment: dict[str, str], name: str | None
) -> None:
    told: list[str] = []
    provider = search_provider(settings(tmp_path, search=said)[0], environment, tell=told.append)
    assert (None if provider is None else provider.name) == name
    assert bool(told) == (len(said) == 1 and "enabled" not in said and said != {"provider": "brave"})
    assert all("search.url is" in sentence for sentence in told)


@pytest.mark.contract("X5", "W2")
async def test_searches_that_are_switched_off_in_a_session_send_nothing(tmp_path: Path) -> None:
    live, editor = settings(tmp_path, search={"provider": "searxng", "url": "http://localhost:8888"})
    provider = search_provider(live, {}, tell=print)
    assert provider is not None
    request = SearchRequest(query="x")
    assert [target.host for target in provider.targets(request)] == ["localhost"]
    editor.changed({"search": {"enabled": False}})
    live.look()
    with pytest.raises(SearchNotConfiguredError, match=r"switched off by the settings \(search.enabled\)"):
        provider.targets(request)
    with pytest.raises(SearchNotConfiguredError, match="nothing was sent"):
        await provider.search(request)


def test_a_password_in_the_url_of_an_instance_is_in_no_message() -> None:
    with pytest.raises(ValueRefusedError) as refused:
        web_address("http://user:secret@h/")
    assert "secret" not in str(refused.value)
