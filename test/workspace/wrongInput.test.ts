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
  ["no size of files", "maximumFileBytes", () => new Workspace({ root: ".", maximumFileBytes: Number.NaN })],
  ["no number of files", "maximumFiles", () => new Workspace({ root: ".", maximumFiles: -1 })],
  ["a handler that is none", "onConflict", () => new Workspace({ root: ".", onConflict: wrong("merge") })],
  ["patterns that are no list", "ignore", () => new Workspace({ root: ".", ignore: wrong("*.log") })],
  ["a watch whose options are text", "", drift(".")],
  ["a watch without a root", "root", drift({})],
  ["a watch of no upstream", "upstream", drift({ root: ".", upstream: 5 })],
  ["a watch that cannot fetch", "fetch", drift({ root: ".", fetch: "git fetch" })],
  ["a watch that tells nobody", "onDrift", drift({ root: ".", onDrift: {} })],
  ["a watch at no time", "intervalMs", drift({ root: ".", intervalMs: Number.NaN })],
  ["a watch with no clock", "clock", drift({ root: ".", clock: Date })],
  ["a rebase without a test", "rebase.test", drift({ root: ".", rebase: { committer: { name: "A", email: "a@b" } } })],
  ["a rebase by nobody", "rebase.committer.email", drift({ root: ".", rebase: { test, committer: { name: "A" } } })],
  ["a lock without options", "", () => new OptimisticLock(wrong(undefined))],
  ["a lock without a root", "root", () => new OptimisticLock(wrong({ reservations }))],
  ["a lock without reservations", "reservations", () => new OptimisticLock(wrong({ root: "." }))],
  ["a lock for nobody", "owner", () => new OptimisticLock({ root: ".", reservations, owner: wrong(5) })],
  ["a lock of no time", "timeoutMs", () => new OptimisticLock({ root: ".", reservations, timeoutMs: Number.NaN })],
  ["a look at no file", "path", () => lock.acquire(wrong(undefined))],
  ["a commit of nothing", "content", async () => (await lock.acquire("a")).checkAndCommit(wrong({ text: "x" }))],
  ["a merge of no text", "base", () => mergeThreeWay(wrong(undefined), "a", "b")],
  [
    "line endings that are none",
    "options.lineEndings",
    () => mergeThreeWay("c", "a", "b", { lineEndings: wrong("crlf") }),
  ],
  ["a reservation of no list", "files", () => reservations.acquire(wrong("a"), { owner: "o" })],
  [
    "a reservation of no path",
    "files.0.path",
    () => reservations.acquire([{ ...files[0], path: wrong(5) }], { owner: "o" }),
  ],
  ["a reservation for nobody", "options.owner", () => reservations.acquire(files, wrong({}))],
  ["a reservation for no time", "options.ttlMs", () => reservations.acquire(files, { owner: "o", ttlMs: Number.NaN })],
  ["a wait of no time", "options.timeoutMs", () => reservations.acquire(files, { owner: "o", timeoutMs: Number.NaN })],
  ["a preview of no checkpoint", "checkpointId", () => workspace.preview(wrong(undefined))],
  ["a preview for no agent", "options.agentId", () => workspace.preview("c", { agentId: wrong(5) })],
  ["a capture of no work", "action", () => workspace.capture(noContext, wrong("npm test"))],
  [
    "a commit of the workspace without a message",
    "message",
    () => workspace.commit(noContext, wrong({ ...request, message: "" })),
  ],
  ["a commit tool without options", "", () => commitTool(wrong(undefined))],
  ["a commit tool without a root", "root", () => commitTool(wrong({ author }))],
  [
    "a commit tool without an author's name",
    "author.name",
    () => commitTool({ root: ".", author: wrong({ email: "a@b" }) }),
  ],
  ["git files at no root", "root", () => commitFiles(wrong(undefined), request)],
  ["a git commit of nothing", "request", () => commitFiles("/never/made", wrong(undefined))],
  ["a git commit without a message", "request.message", () => commitFiles("/never/made", { ...request, message: "" })],
  [
    "a git commit of paths that are no list",
    "request.paths",
    () => commitFiles("/never/made", { ...request, paths: wrong("a") }),
  ],
  ["a git commit of no path", "request.paths.0", () => commitFiles("/never/made", { ...request, paths: [wrong(5)] })],
  ["a git commit by nobody", "request.author", () => commitFiles("/never/made", { ...request, author: wrong("A") })],
  [
    "a git commit with no signal",
    "request.signal",
    () => commitFiles("/never/made", { ...request, signal: wrong({}) }),
  ],
  ["a revert at no root", "root", () => revertCommit(wrong(5), made)],
  ["a revert of nothing", "committed", () => revertCommit("/never/made", wrong(undefined))],
  ["a revert of no commit", "committed.commit", () => revertCommit("/never/made", { ...made, commit: "HEAD" })],
  ["a revert on no branch", "committed.branch", () => revertCommit("/never/made", { ...made, branch: "main" })],
  ["a revert to no commit", "committed.parent", () => revertCommit("/never/made", { ...made, parent: "HEAD" })],
  [
    "a revert of what may not have been made",
    "committed.made",
    () => revertCommit("/never/made", wrong({ ...made, made: undefined })),
  ],
  ["a rebase without options", "", () => rebaseIfSafe(wrong(undefined))],
  ["a rebase at no root", "root", () => rebaseIfSafe({ ...rebase, root: "" })],
  ["a rebase that is enabled by text", "enabled", () => rebaseIfSafe({ ...rebase, enabled: wrong("yes") })],
  ["a rebase onto no upstream", "upstream", () => rebaseIfSafe({ ...rebase, upstream: wrong(5) })],
  ["a rebase from no known head", "knownUpstreamHead", () => rebaseIfSafe({ ...rebase, knownUpstreamHead: wrong(5) })],
  ["a rebase that tests nothing", "test", () => rebaseIfSafe({ ...rebase, test: wrong("npm test") })],
  ["a rebase that nobody permits", "permission", () => rebaseIfSafe({ ...rebase, permission: wrong(true) })],
  ["a rebase without a committer", "committer", () => rebaseIfSafe({ ...rebase, committer: wrong(undefined) })],
  ["a rebase with no signal", "signal", () => rebaseIfSafe({ ...rebase, signal: wrong("now") })],
  ["a rebase of a run without a test", "test", () => rebaseInRun(noContext, wrong({ ...rebase, test: undefined }))],
  ["reservations in no folder", "directory", () => new Reservations({ directory: wrong(5) })],
  ["reservations with no clock", "clock", () => new Reservations({ clock: wrong(Date) })],
  ["reservations of no process", "identity", () => new Reservations({ identity: wrong("me") })],
  ["a look at who holds no file", "path", () => reservations.holders(wrong(5))],
  ["a resolver by a model that has none", "model", () => new ConflictResolver({ automation: "model" })],
  ["a resolver by no automation", "automation", () => new ConflictResolver({ automation: wrong("all") })],
  [
    "a resolver whose model has no name",
    "model.name",
    () => new ConflictResolver({ model: wrong({ promptExecutor: scriptedModel([]) }) }),
  ],
  [
    "a resolver whose model cannot be asked",
    "model.promptExecutor",
    () => new ConflictResolver({ model: wrong({ promptExecutor: "m", name: "m" }) }),
  ],
  ["a resolver that asks no person", "askPerson", () => new ConflictResolver({ askPerson: wrong("Ada") })],
  ["a resolver that checks nothing", "check", () => new ConflictResolver({ check: wrong("tsc") })],
  ["a conflict without a side", "conflict.theirs", () => resolver.resolve(wrong({ ...conflict, theirs: undefined }))],
  ["a conflict with no intent", "conflict.agentIntent", () => resolver.resolve({ ...conflict, agentIntent: wrong(5) })],
  ["a resolution with no signal", "signal", () => resolver.resolve(conflict, wrong("now"))],
  [
    "a conflict of a run without a path",
    "conflict.path",
    () => resolveInRun(noContext, resolver, wrong({ ...conflict, path: 5 })),
  ],
  ["a resolution in a run by no resolver", "resolver", () => resolveInRun(noContext, wrong({}), conflict)],
  ["a resolution in a run at no root", "options.root", resolving({ root: 5 })],
  ["advice without progress", "progress", () => recommendRestart(wrong({ severity: "high" }))],
  ["advice on more than all progress", "progress", () => recommendRestart({ progress: 120, severity: "high" })],
  ["advice on no severity", "severity", () => recommendRestart({ progress: 5, severity: wrong("worst") })],
  [
    "advice by no preference",
    "preference",
    () => recommendRestart({ progress: 5, severity: "high", preference: wrong("no") }),
  ],
  ["a response to no report", "", () => driftResponse(wrong(undefined))],
  [
    "a response to no severity",
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
