import { merge, Reservations, Workspace } from "agent-persistence/workspace";
import { expect, it } from "vitest";

/** Whatever JavaScript may hand over, the types notwithstanding. */
const wrong = (value: unknown): never => value as never;

const reservations = new Reservations({ directory: "/never/made" });
const files = [{ path: "a", operation: "read" }] as const;

it.each<readonly [string, string, () => unknown]>([
  ["a workspace without options", "", () => new Workspace(wrong(undefined))],
  ["a workspace without a root", "root", () => new Workspace(wrong({}))],
  ["a workspace whose root is empty", "root", () => new Workspace({ root: "" })],
  ["no size of files", "maximumFileBytes", () => new Workspace({ root: ".", maximumFileBytes: Number.NaN })],
  ["no number of files", "maximumFiles", () => new Workspace({ root: ".", maximumFiles: -1 })],
  ["a handler that is none", "onConflict", () => new Workspace({ root: ".", onConflict: wrong("merge") })],
  ["patterns that are no list", "ignore", () => new Workspace({ root: ".", ignore: wrong("*.log") })],
  ["a merge of no text", "base", () => merge(wrong(undefined), "a", "b")],
  ["line endings that are none", "options.lineEndings", () => merge("c", "a", "b", { lineEndings: wrong("crlf") })],
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
