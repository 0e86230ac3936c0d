import { AIAgent, type AIAgentConfig } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { Drift, mergeThreeWay, OptimisticLock, Reservations, Workspace } from "agent-persistence/workspace";
import { expect, it } from "vitest";

/** Whatever JavaScript may hand over, the types notwithstanding. */
const wrong = (value: unknown): never => value as never;

const reservations = new Reservations({ directory: "/never/made" });
const lock = new OptimisticLock({ root: ".", reservations });
const config: AIAgentConfig<string, string> = { promptExecutor: scriptedModel([]), llmModel: "m" };
const drift = (options: unknown) => () => new AIAgent(config).install(Drift, wrong(options));
const test = () => true;
const files = [{ path: "a", operation: "read" }] as const;

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
  ["a commit to no file", "path", () => lock.checkAndCommit(wrong(5), "x")],
  ["a commit of nothing", "content", () => lock.checkAndCommit("a", wrong({ text: "x" }))],
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
])("refuses %s, and says where", async (_name, path, call) => {
  await expect(Promise.resolve().then(call)).rejects.toMatchObject({ code: "invalid_input", problems: [{ path }] });
});
