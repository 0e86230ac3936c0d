import { AIAgent, type AIAgentConfig } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import {
  commitFiles,
  commitTool,
  ConflictResolver,
  Drift,
  driftResponse,
  mergeThreeWay,
  OptimisticLock,
  rebaseIfSafe,
  rebaseInRun,
  recommendRestart,
  Reservations,
  resolveInRun,
  revertCommit,
  Workspace,
} from "agent-persistence/workspace";
import { expect, it } from "vitest";

/** Whatever JavaScript may hand over, the types notwithstanding. */
const wrong = (value: unknown): never => value as never;

const reservations = new Reservations({ directory: "/never/made" });
const lock = new OptimisticLock({ root: ".", reservations });
const config: AIAgentConfig<string, string> = { promptExecutor: scriptedModel([]), llmModel: "m" };
const drift = (options: unknown) => () => new AIAgent(config).install(Drift, wrong(options));
const test = () => true;
const files = [{ path: "a", operation: "read" }] as const;
const author = { name: "A", email: "a@b" };
const request = { message: "m", paths: ["a"], author };
const made = { commit: "a".repeat(40), parent: "", made: true };
const rebase = { root: "/never/made", enabled: true, test, permission: test, committer: author };
const workspace = new Workspace({ root: "/never/made" });
const resolver = new ConflictResolver();
const conflict = { path: "a", base: "", ours: "", theirs: "" };
const noContext = wrong(undefined);
const resolving = (options: unknown) => () => resolveInRun(noContext, resolver, conflict, wrong(options));

it.each<readonly [string, string, () => unknown]>([
  ["a workspace without options", "", () => new Workspace(wrong(undefined))],
  ["a workspace without a root", "root", () => new Workspace(wrong({}))],
  ["a workspace whose root is empty", "root", () => new Workspace({ root: "" })],
  ["an invalid file size limit", "maximumFileBytes", () => new Workspace({ root: ".", maximumFileBytes: Number.NaN })],
  ["an invalid file count limit", "maximumFiles", () => new Workspace({ root: ".", maximumFiles: -1 })],
  ["an invalid handler", "onConflict", () => new Workspace({ root: ".", onConflict: wrong("merge") })],
  ["patterns that are not a list", "ignore", () => new Workspace({ root: ".", ignore: wrong("*.log") })],
  ["a watch whose options are text", "", drift(".")],
  ["a watch without a root", "root", drift({})],
  ["a watch without an upstream", "upstream", drift({ root: ".", upstream: 5 })],
  ["a watch with an invalid fetch", "fetch", drift({ root: ".", fetch: "git fetch" })],
  ["a watch with an invalid listener", "onDrift", drift({ root: ".", onDrift: {} })],
  ["a watch with an invalid interval", "intervalMs", drift({ root: ".", intervalMs: Number.NaN })],
  ["a watch with an invalid clock", "clock", drift({ root: ".", clock: Date })],
  ["a rebase without a test", "rebase.test", drift({ root: ".", rebase: { committer: { name: "A", email: "a@b" } } })],
  [
    "a rebase without a committer name",
    "rebase.committer.email",
    drift({ root: ".", rebase: { test, committer: { name: "A" } } }),
  ],
  ["a lock without options", "", () => new OptimisticLock(wrong(undefined))],
  ["a lock without a root", "root", () => new OptimisticLock(wrong({ reservations }))],
  ["a lock without reservations", "reservations", () => new OptimisticLock(wrong({ root: "." }))],
  ["a lock without a holder", "owner", () => new OptimisticLock({ root: ".", reservations, owner: wrong(5) })],
  [
    "a lock with an invalid duration",
    "timeoutMs",
    () => new OptimisticLock({ root: ".", reservations, timeoutMs: Number.NaN }),
  ],
  ["a read without a file", "path", () => lock.acquire(wrong(undefined))],
  ["a commit without options", "content", async () => (await lock.acquire("a")).checkAndCommit(wrong({ text: "x" }))],
  ["a merge without text", "base", () => mergeThreeWay(wrong(undefined), "a", "b")],
  ["invalid line endings", "options.lineEndings", () => mergeThreeWay("c", "a", "b", { lineEndings: wrong("crlf") })],
  ["a reservation without a list", "files", () => reservations.acquire(wrong("a"), { owner: "o" })],
  [
    "a reservation with an invalid path",
    "files.0.path",
    () => reservations.acquire([{ ...files[0], path: wrong(5) }], { owner: "o" }),
  ],
  ["a reservation without a holder", "options.owner", () => reservations.acquire(files, wrong({}))],
  [
    "a reservation with an invalid duration",
    "options.ttlMs",
    () => reservations.acquire(files, { owner: "o", ttlMs: Number.NaN }),
  ],
  [
    "a wait with an invalid duration",
    "options.timeoutMs",
    () => reservations.acquire(files, { owner: "o", timeoutMs: Number.NaN }),
  ],
  ["a preview without a checkpoint", "checkpointId", () => workspace.preview(wrong(undefined))],
  ["a preview without an agent", "options.agentId", () => workspace.preview("c", { agentId: wrong(5) })],
  ["a capture without a function", "action", () => workspace.capture(wrong({}), wrong("npm test"))],
  ["a capture without a context", "context", () => workspace.capture(noContext, () => 1)],
  [
    "a commit of the workspace without a message",
    "message",
    () => workspace.commit(noContext, wrong({ ...request, message: "" })),
  ],
  ["a commit of the workspace without a context", "context", () => workspace.commit(noContext, request)],
  ["a rebase of a run without a context", "context", () => rebaseInRun(noContext, rebase)],
  ["a conflict of a run without a context", "context", () => resolveInRun(noContext, resolver, conflict)],
  ["a commit tool without options", "", () => commitTool(wrong(undefined))],
  ["a commit tool without a root", "root", () => commitTool(wrong({ author }))],
  [
    "a commit tool without an author's name",
    "author.name",
    () => commitTool({ root: ".", author: wrong({ email: "a@b" }) }),
  ],
  ["git files without a root", "root", () => commitFiles(wrong(undefined), request)],
  ["a git commit without files", "request", () => commitFiles("/never/made", wrong(undefined))],
  ["a git commit without a message", "request.message", () => commitFiles("/never/made", { ...request, message: "" })],
  [
    "a git commit whose paths are not a list",
    "request.paths",
    () => commitFiles("/never/made", { ...request, paths: wrong("a") }),
  ],
  [
    "a git commit with an invalid path",
    "request.paths.0",
    () => commitFiles("/never/made", { ...request, paths: [wrong(5)] }),
  ],
  [
    "a git commit without an author",
    "request.author",
    () => commitFiles("/never/made", { ...request, author: wrong("A") }),
  ],
  [
    "a git commit with an invalid signal",
    "request.signal",
    () => commitFiles("/never/made", { ...request, signal: wrong({}) }),
  ],
  ["a revert without a root", "root", () => revertCommit(wrong(5), made)],
  ["a revert without a commit record", "committed", () => revertCommit("/never/made", wrong(undefined))],
  [
    "a revert with an invalid commit",
    "committed.commit",
    () => revertCommit("/never/made", { ...made, commit: "HEAD" }),
  ],
  [
    "a revert with an invalid branch",
    "committed.branch",
    () => revertCommit("/never/made", { ...made, branch: "main" }),
  ],
  [
    "a revert with an invalid parent",
    "committed.parent",
    () => revertCommit("/never/made", { ...made, parent: "HEAD" }),
  ],
  [
    "a revert without a made flag",
    "committed.made",
    () => revertCommit("/never/made", wrong({ ...made, made: undefined })),
  ],
  ["a rebase without options", "", () => rebaseIfSafe(wrong(undefined))],
  ["a rebase without a root", "root", () => rebaseIfSafe({ ...rebase, root: "" })],
  ["a rebase that is enabled by text", "enabled", () => rebaseIfSafe({ ...rebase, enabled: wrong("yes") })],
  ["a rebase without an upstream", "upstream", () => rebaseIfSafe({ ...rebase, upstream: wrong(5) })],
  [
    "a rebase with an invalid head",
    "knownUpstreamHead",
    () => rebaseIfSafe({ ...rebase, knownUpstreamHead: wrong(5) }),
  ],
  ["a rebase with an invalid test", "test", () => rebaseIfSafe({ ...rebase, test: wrong("npm test") })],
  ["a rebase with an invalid permission", "permission", () => rebaseIfSafe({ ...rebase, permission: wrong(true) })],
  ["a rebase without a committer", "committer", () => rebaseIfSafe({ ...rebase, committer: wrong(undefined) })],
  ["a rebase with an invalid signal", "signal", () => rebaseIfSafe({ ...rebase, signal: wrong("now") })],
  ["a rebase of a run without a test", "test", () => rebaseInRun(noContext, wrong({ ...rebase, test: undefined }))],
  ["reservations without a directory", "directory", () => new Reservations({ directory: wrong(5) })],
  ["reservations with an invalid clock", "clock", () => new Reservations({ clock: wrong(Date) })],
  ["reservations with an invalid process", "identity", () => new Reservations({ identity: wrong("me") })],
  ["a query of the holder without a file", "path", () => reservations.holders(wrong(5))],
  ["a resolver with automation but no model", "model", () => new ConflictResolver({ automation: "model" })],
  ["a resolver with an unknown automation", "automation", () => new ConflictResolver({ automation: wrong("all") })],
  [
    "a resolver whose model has no name",
    "model.name",
    () => new ConflictResolver({ model: wrong({ promptExecutor: scriptedModel([]) }) }),
  ],
  [
    "a resolver whose model cannot execute",
    "model.promptExecutor",
    () => new ConflictResolver({ model: wrong({ promptExecutor: "m", name: "m" }) }),
  ],
  ["a resolver with an invalid askPerson", "askPerson", () => new ConflictResolver({ askPerson: wrong("Ada") })],
  ["a resolver with an invalid check", "check", () => new ConflictResolver({ check: wrong("tsc") })],
  ["a conflict without a side", "conflict.theirs", () => resolver.resolve(wrong({ ...conflict, theirs: undefined }))],
  [
    "a conflict without an intent",
    "conflict.agentIntent",
    () => resolver.resolve({ ...conflict, agentIntent: wrong(5) }),
  ],
  ["a resolution with an invalid signal", "signal", () => resolver.resolve(conflict, wrong("now"))],
  [
    "a conflict of a run without a path",
    "conflict.path",
    () => resolveInRun(noContext, resolver, wrong({ ...conflict, path: 5 })),
  ],
  ["a resolution in a run without a resolver", "resolver", () => resolveInRun(noContext, wrong({}), conflict)],
  ["a resolution in a run without a root", "options.root", resolving({ root: 5 })],
  ["advice without progress", "progress", () => recommendRestart(wrong({ severity: "high" }))],
  ["advice on more than full progress", "progress", () => recommendRestart({ progress: 120, severity: "high" })],
  ["advice on an unknown severity", "severity", () => recommendRestart({ progress: 5, severity: wrong("worst") })],
  [
    "advice with an unknown preference",
    "preference",
    () => recommendRestart({ progress: 5, severity: "high", preference: wrong("no") }),
  ],
  ["a response without a report", "", () => driftResponse(wrong(undefined))],
  [
    "a response to an unknown severity",
    "severity",
    () => driftResponse(wrong({ rewritten: false, upstream: "u", commitsBehind: 1, conflictingFiles: [] })),
  ],
])("agent-persistence/workspace refuses %s with invalid_input and names the location", async (_name, path, call) => {
  await expect(Promise.resolve().then(call)).rejects.toMatchObject({ code: "invalid_input", problems: [{ path }] });
});

it.each<readonly [string, string, string, () => unknown]>([
  ["a workspace", "maxFileBytes", "maximumFileBytes", () => new Workspace(wrong({ root: ".", maxFileBytes: 5 }))],
  ["a preview", "agentID", "agentId", () => workspace.preview("c", wrong({ agentID: "a" }))],
  ["a commit of the workspace", "path", "paths", () => workspace.commit(noContext, wrong({ ...request, path: "a" }))],
  ["a commit tool", "autor", "author", () => commitTool(wrong({ root: ".", author, autor: author }))],
  ["a git commit", "mesage", "message", () => commitFiles("/never/made", wrong({ ...request, mesage: "m" }))],
  [
    "an author",
    "mail",
    "email",
    () => commitFiles("/never/made", { ...request, author: wrong({ ...author, mail: "a@b" }) }),
  ],
  ["a rebase", "permision", "permission", () => rebaseIfSafe(wrong({ ...rebase, permision: test }))],
  ["a rebase in a run", "tests", "test", () => rebaseInRun(noContext, wrong({ ...rebase, tests: test }))],
  ["a drift watch", "interval", "intervalMs", drift({ root: ".", interval: 5 })],
  [
    "a rebase of a drift watch",
    "comitter",
    "committer",
    drift({ root: ".", rebase: { test, committer: author, comitter: author } }),
  ],
  ["reservations", "direcory", "directory", () => new Reservations(wrong({ direcory: "d" }))],
  ["a reservation", "timeout", "timeoutMs", () => reservations.acquire(files, wrong({ owner: "o", timeout: 5 }))],
  [
    "an optimistic lock",
    "timeout",
    "timeoutMs",
    () => new OptimisticLock(wrong({ root: ".", reservations, timeout: 5 })),
  ],
  ["a merge", "lineEnding", "lineEndings", () => mergeThreeWay("c", "a", "b", wrong({ lineEnding: "merge" }))],
  [
    "the labels of a merge",
    "their",
    "theirs",
    () => mergeThreeWay("c", "a", "b", { labels: wrong({ ours: "a", theirs: "b", their: "b" }) }),
  ],
  ["a resolver", "askperson", "askPerson", () => new ConflictResolver(wrong({ askperson: () => undefined }))],
  [
    "the model of a resolver",
    "names",
    "name",
    () => new ConflictResolver({ model: wrong({ promptExecutor: scriptedModel([]), name: "m", names: "m" }) }),
  ],
  ["a conflict", "agentIntend", "agentIntent", () => resolver.resolve(wrong({ ...conflict, agentIntend: "i" }))],
  ["a resolution in a run", "Root", "root", resolving({ Root: "." })],
  [
    "the question whether to restart",
    "preferences",
    "preference",
    () => recommendRestart(wrong({ progress: 5, severity: "high", preferences: "restart" })),
  ],
])(
  "agent-persistence/workspace refuses a misspelled option of %s and suggests the right name",
  async (_name, key, right, call) => {
    const message = expect.stringContaining(`unknown option "${key}"; did you mean "${right}"`) as unknown;
    await expect(Promise.resolve().then(call)).rejects.toMatchObject({ code: "invalid_input", message });
  },
);
