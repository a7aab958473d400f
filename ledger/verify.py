"""Whether evidence is what was sealed: folder name, path, manifest and content agree, both ways (rule 4).

`verify_run` checks one run folder by itself, `verify_evidence` all that an evidence folder holds: also that nothing
strange lies between the runs, that plans and status records are whole, and that no trial counts twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ledger import layout, manifest, plan_file, status
from ledger.canonical import file_digest
from ledger.errors import EvidenceError, InputError
from ledger.finding import Finding
from ledger.run import Run, State
from ledger.run_check import run_problems
from ledger.run_folder import FOLDER, RunFolder
from ledger.status import SETS_ASIDE, StatusRecord

RESTORE = "restore it from git"
_RUN = "run.json"


@dataclass(frozen=True)
class RunCheck:
    """What the check of one run folder found."""

    folder: RunFolder
    run: Run | None
    """run.json, where it could be read."""
    files: int
    redacted: tuple[str, ...]
    """Files that are absent and may be: a status record says so."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Report:
    """What the check of an evidence folder found."""

    checks: tuple[RunCheck, ...]
    plans: int
    records: tuple[StatusRecord, ...]
    findings: tuple[Finding, ...]
    """Those of all runs and those of what lies around them."""
    warnings: tuple[Finding, ...] = ()
    """What may be wrong, or may be as it should: the evidence alone cannot tell."""

    @property
    def files(self) -> int:
        """Files that were compared with what was sealed."""
        return sum(check.files for check in self.checks)


def verify_run(folder: RunFolder, redacted: Mapping[str, str] | None = None) -> list[Finding]:
    """What is wrong with one run folder; nothing when it is as sealed.

    `redacted` is {path: sha256} of files that may be absent, by default as the status records beside it say.
    """
    return list(check_run(folder, redacted).findings)


def check_run(folder: RunFolder, redacted: Mapping[str, str] | None = None) -> RunCheck:
    """As `verify_run`, with what else the check learned."""
    links = _links(folder)
    if links:
        return RunCheck(folder, None, 0, (), tuple(links))
    if redacted is None:
        redacted = _own_redactions(folder)
    check = _Check(folder, redacted)
    check.manifest()
    if check.digests is not None:
        check.content(check.digests)
    check.run_json()
    return RunCheck(folder, check.run, check.files, tuple(check.absent), tuple(check.findings))


def verify_evidence(evidence: Path, progress: Callable[[list[RunFolder]], Iterator[RunFolder]] = iter) -> Report:
    """Check all of an evidence folder. `progress` passes the runs through, one after another.

    Raises InputError when the folder is missing, a file or unreadable.
    """
    found = layout.survey(evidence)
    findings = list(found.findings)
    records, broken = _records(evidence, found)
    findings += broken
    redacted: dict[str, list[StatusRecord]] = {}
    for record in records:
        redacted.setdefault(record.run_id, []).append(record)
    checks = [
        check_run(each, status.redacted_paths(redacted.get(each.run_id, []))) for each in progress(list(found.runs))
    ]
    findings += [finding for check in checks for finding in check.findings]
    plans, broken = plan_file.check_plans(evidence, found.plans)
    runs = [(check.folder, check.run) for check in checks if check.run is not None]
    findings += [*broken, *plan_file.check_against_runs(plans, runs), *_counted_twice(runs, records)]
    warnings = tuple(_without_run(evidence, found.plans, plans, [run for _, run in runs]))
    return Report(tuple(checks), len(found.plans), tuple(records), tuple(findings), warnings)


def find_runs(evidence: Path, names: tuple[str, ...]) -> list[RunFolder]:
    """The run folders that paths, ids or first digits of ids mean, each once. Raises InputError."""
    chosen: dict[Path, RunFolder] = {}
    runs = layout.survey(evidence).runs if any(not _is_folder(name) for name in names) else ()
    for name in names:
        matches = [each for each in runs if name in {each.path.name, each.name} or each.run_id.startswith(name or " ")]
        if _is_folder(name):
            matches = [RunFolder(Path(name).absolute())]
            if not FOLDER.fullmatch(matches[0].path.name):
                raise InputError("is not a run folder, <stack>-<id>", where=name, todo="name the folder of one run")
        if len(matches) != 1:
            what = f"{len(matches)} runs start with {name!r}" if matches else f"no run {name!r}"
            raise InputError(what, where=str(evidence), todo="name it by its path, or by more digits of its id")
        chosen.setdefault(matches[0].path, matches[0])
    return list(chosen.values())


def _is_folder(name: str) -> bool:
    return bool(name) and Path(name).is_dir()


@dataclass
class _Check:
    """One run folder under the eye."""

    folder: RunFolder
    redacted: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    digests: dict[str, str] | None = None
    run: Run | None = None
    files: int = 0

    def report(self, code: str, file: str | None, what: str, todo: str = RESTORE) -> None:
        self.findings.append(Finding(code, self.folder.name, file, what, todo))

    def manifest(self) -> None:
        """The manifest is a file whose bytes give the folder's id."""
        path = self.folder.path / manifest.NAME
        if not path.is_file() or path.is_symlink():
            how = "was replaced by a symbolic link" if path.is_symlink() else "is missing"
            self.report("missing", manifest.NAME, f"{how}, so nothing shows what was sealed")
            return
        try:
            data = self.folder.bytes(manifest.NAME)
            self.files += 1
            found = manifest.run_id(data)
            if found != self.folder.run_id:
                what = f"gives the id {found}, not that of the folder's name: it was changed or the folder renamed"
                self.report("identity", manifest.NAME, what, "restore it from git, or the folder's old name")
            self.digests = manifest.parse(data, str(self.folder.path))
        except EvidenceError as error:
            self.report("manifest", None, error.what)

    def content(self, digests: dict[str, str]) -> None:
        """Every file of the manifest is there, unchanged, and nothing else is."""
        present = dict(layout.walk(self.folder.path))
        emptied = {name for name, kind in present.items() if kind == "folder" and _holds(name, digests)}
        for name, kind in sorted(present.items()):
            if name not in emptied:  # there the missing files are reported
                self._present(name, kind, digests.get(name))
        for name in sorted(set(digests) - set(present)):
            if any(other.startswith(f"{name}/") for other in present):
                self.report("missing", name, "was replaced by a folder", RESTORE)
            elif self.redacted.get(name) == digests[name]:
                self.absent.append(name)
            else:
                self.report("missing", name, "is missing")
        for name in layout.clashes([*present, *digests]):
            self.report("clash", name, "differs from another name only by case or Unicode form", "take it out")

    def _present(self, name: str, kind: str, sha256: str | None) -> None:
        if name == manifest.NAME and kind == "file":
            return
        if kind != "file" and (sha256 is not None or name == manifest.NAME or self._stands_for(name)):
            self.report("missing" if kind == "folder" else kind, name, layout.REPLACED[kind], layout.TODO[kind])
            return
        if kind != "file" or sha256 is None:
            what = layout.KINDS[kind] if kind != "file" else "is an extra file, which was not sealed"
            todo = "check its permissions" if kind == "unreadable" else "take it out"
            self.report("extra" if kind in {"file", "folder"} else kind, name, what, todo)
            return
        try:
            self.files += 1
            if file_digest(self.folder.path / name) != sha256:
                self.report("changed", name, "is not what was sealed: its sha256 differs from the manifest's")
        except OSError as error:
            self.report("unreadable", name, f"cannot be read ({error.strerror})", "check its permissions")

    def _stands_for(self, name: str) -> bool:
        """Whether a folder with sealed files should be where something else is."""
        return self.digests is not None and _holds(name, self.digests)

    def run_json(self) -> None:
        """run.json can be read and says what the folder's path says."""
        path = self.folder.path / _RUN
        if path.is_symlink() or not path.is_file():
            if self.digests is not None and _RUN not in self.digests:
                self.report("run", _RUN, "was never sealed: this is no run folder", "take the folder out")
            return
        try:
            self.run = Run.from_json(_strict_json(self.folder.bytes(_RUN)), str(self.folder.path))
        except (EvidenceError, ValueError, RecursionError) as error:
            said = error.what if isinstance(error, EvidenceError) else f"{_RUN} is not JSON ({error})"
            self.report("run", _RUN, said)
            return
        for code, what in run_problems(self.folder, self.run, self.digests or {}):
            self.report(code, _RUN, what, "put the folder back where it was" if code == "identity" else RESTORE)


def _holds(folder: str, paths: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for path in paths)


def _strict_json(data: bytes) -> object:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no value")

    return json.loads(data, parse_constant=refuse)


def _links(folder: RunFolder) -> list[Finding]:
    above = [folder.path, *folder.path.parents[:2]]
    return [
        Finding("link", folder.name, None, f"{path.name} is a symbolic link", "put the real folder in its place")
        for path in above
        if path.is_symlink()
    ]


def _own_redactions(folder: RunFolder) -> dict[str, str]:
    try:
        return status.redacted_paths(status.read_of(folder.path.parents[2], folder.run_id))
    except EvidenceError:
        return {}


def _records(evidence: Path, found: layout.Survey) -> tuple[list[StatusRecord], list[Finding]]:
    """The status records that can be read, and what is wrong with the others."""
    ids = {each.run_id for each in found.runs}
    records: list[StatusRecord] = []
    findings: list[Finding] = []
    for path in found.records:
        place = path.relative_to(evidence).as_posix()
        try:
            record = status.parse(path.read_bytes(), path.parent.name, path.name, str(path))
        except EvidenceError as error:
            findings.append(Finding("status", place, None, error.what, RESTORE))
            continue
        except OSError as error:
            findings.append(Finding("unreadable", place, None, f"cannot be read ({error.strerror})", RESTORE))
            continue
        unknown = [run for run in (record.run_id, record.by) if run is not None and run not in ids]
        findings += [
            Finding("status", place, None, f"speaks of the run {run}, which is not here", "restore that run from git")
            for run in unknown
        ]
        records.append(record)
    return records, findings


def _without_run(evidence: Path, paths: list[Path], plans: plan_file.Plans, runs: list[Run]) -> Iterator[Finding]:
    """Planned launches of which no run is there, nor one of the same trial in another batch.

    A plan says what a batch set out to launch. One that was interrupted, or runs now, leaves the same trace as one
    whose run folders were taken away, so this is no more than a warning.
    """
    sealed = {run.trial_key for run in runs}
    for path in paths:
        benchmark, batch = path.parents[1].name, path.stem.removeprefix("plan-")
        planned = plans.get((benchmark, batch), set())
        open_ = sorted(order for key, order in planned if key not in sealed)
        if not open_:
            continue
        last = max((run.launch_order for run in runs if run.batch == batch), default=0)
        what = f"{len(open_)} of its {len(planned)} launches have no run, the first is launch {open_[0]}: "
        what += "it was interrupted or runs now, or run folders were taken away"
        if open_[0] < last:
            what += f"; launch {last} has one, so that an interruption alone does not account for it"
        todo = (
            "compare with what a branch holds (`stackproof verify --base REV`), or run `collect` again to launch them"
        )
        yield Finding("plan_unfinished", path.relative_to(evidence).as_posix(), None, what, todo)


def _counted_twice(runs: list[tuple[RunFolder, Run]], records: list[StatusRecord]) -> Iterator[Finding]:
    """Trials with two runs that both count: the same attempt twice, or two that completed."""
    aside = {record.run_id for record in records if record.kind in SETS_ASIDE}
    seen: dict[tuple[str, int | State], RunFolder] = {}
    for folder, run in runs:
        if run.duplicate_of_attempt or folder.run_id in aside:
            continue
        keys: list[tuple[str, int | State]] = [(run.trial_key, run.attempt)]
        if run.outcome.state is State.COMPLETED:
            keys.append((run.trial_key, State.COMPLETED))
        first = next((seen[key] for key in keys if key in seen), None)
        for key in keys:
            seen.setdefault(key, folder)
        if first is not None:
            what = f"counts a second time: {first.run_id} is the same trial (trial_key {run.trial_key})"
            todo = f"run `stackproof supersede {folder.run_id} --by {first.run_id} --why …`, or the other way round"
            yield Finding("duplicate", folder.name, None, what, todo)
