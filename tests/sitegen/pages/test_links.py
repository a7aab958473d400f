"""Every link, anchor and resource of the built site leads to a file of the site, also when opened from disk."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """Addresses, ids and what the page would fetch by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found[name] for name in ("id", "name") if name in found and tag != "meta"]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") != "canonical" and "href" in found:
            self.fetched.append(found["href"])
        elif "src" in found:
            self.fetched.append(found["src"])


def pages(site: Path) -> dict[Path, Links]:
    return {path.resolve(): Links(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_link_and_anchor_resolves(site: Path) -> None:
    known = pages(site)
    assert len(known) > 18
    problems = []
    for page, found in known.items():
        for address in (*found.links, *found.fetched):
            parts = urlsplit(address)
            if parts.scheme in {"https", "http", "mailto"}:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file() and parts.path != ".":
                problems.append(f"{page.name}: {address}")
            elif parts.fragment and target in known and unquote(parts.fragment) not in known[target].ids:
                problems.append(f"{page}: no anchor {address}")
    assert problems == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = {address for found in pages(site).values() for address in found.fetched}
    assert [address for address in fetched if urlsplit(address).scheme or address.startswith("//")] == []


def test_ids_are_unique_on_each_page(site: Path) -> None:
    for page, found in pages(site).items():
        ids = [each for each in found.ids if not each.startswith("__")]
        repeated = {each for each in ids if ids.count(each) > 1}
        assert repeated - {"query", "viewport"} <= set(), page
