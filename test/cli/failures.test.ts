import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { persistence } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { StorageError } from "../../src/errors/storageErrors.ts";
import { FileRecordLog } from "../../src/storage/file/FileRecordLog.ts";
import { writeNew, writeOver } from "../../src/cli/storage/commandFiles.ts";
import { Desk, deskModule } from "./support/Desk.ts";
import { deskOn, refusing } from "./support/desk/desk.mjs";
import { documentOf, itemsOf } from "./support/TestTerminal.ts";

describe("a failing command", () => {
  it.each([
    [["list", "--bogus"], "unknown option '--bogus'"],
    [["show"], "missing required argument 'agent'"],
    [["nothing"], "unknown command 'nothing'"],
    [["list", "--limit", "many"], "Expected a whole number"],
  ])("prints only a JSON error for programs: %j", async (args, message) => {
    await using desk = await Desk.open();
    const { code, out, err } = await desk.command([...args, "--json"]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(JSON.parse(err)).toEqual({ error: { code: "usage", message: expect.stringContaining(message) } });
  });

  it.each([
    ["--yes", ""],
    ["--stroage", "\n(Did you mean --storage?)"],
  ])("suggests an option only for a similar word: %s", async (word, suggestion) => {
    await using desk = await Desk.open();
    const { err } = await desk.command(["backup", "folder", word, "--json"]);
    const message = `unknown option '${word}'${suggestion}`;
    expect(JSON.parse(err)).toEqual({ error: { code: "usage", message } });
    const forPeople = await desk.command(["backup", "folder", word]);
    expect(forPeople.err).toContain(`error: ${message}\n(agent-persistence --help`);
  });

  it.each([
    ["cutOff", "write EPIPE"],
    ["throwsNothing", "null"],
  ])("fails with any value that the user's code throws: %s", async (name, message) => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const failed = await desk.command(["resume", "order-1", "--yes", "--json", "--agent", `${deskModule}#${name}`]);
    expect(failed).toMatchObject({ code: 1, out: "" });
    expect(JSON.parse(failed.err)).toEqual({
      error: { code: "failed", message: `Could not load ${deskModule}#${name}: ${message}` },
    });
  });

  it("reports that it was stopped and leaves the agent unchanged", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const args = ["resume", "order-1", "--yes", "--json", "--agent", `${deskModule}#desk`];
    const stopped = await desk.command(args, { stop: AbortSignal.abort() });
    expect(stopped).toMatchObject({ code: 130, out: "" });
    expect(JSON.parse(stopped.err)).toMatchObject({ error: { code: "stopped" } });
    expect(documentOf(await desk.command(["show", "order-1", "--json"]))).toMatchObject({ status: "waiting" });
  });

  it("does not report a wrong call if the agent has continued before an error of the library", async () => {
    await using desk = await Desk.open();
    await refusing().run("go", { agentId: "a" });
    const [request] = documentOf<{ requestId: string }[]>(await desk.command(["answer", "--json"]));
    await desk.command(["answer", request?.requestId ?? "", "true", "--yes"]);
    const resume = ["resume", "a", "--yes", "--json", "--agent", `${deskModule}#refusing`];
    const failed = await desk.command(resume);
    expect(failed).toMatchObject({ code: 1, out: "" });
    expect(JSON.parse(failed.err)).toMatchObject({ error: { code: "invalid_input" } });
  });

  it("reports the error of the run if the storage fails afterwards", async () => {
    await using desk = await Desk.open();
    await desk.runUntilCrash(crashAfter(desk.storage, 1), "order-1");
    const resume = ["resume", "order-1", "--yes", "--json", "--agent", `${deskModule}#unplugged`];
    const failed = await desk.command(resume);
    expect(failed).toMatchObject({ code: 1, out: "" });
    expect(JSON.parse(failed.err)).toEqual({ error: { code: "failed", message: "The model is gone." } });
  });

  it("does not count a failed storage as damage", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const failure = new StorageError("unavailable", "read", desk.agents);
    vi.spyOn(FileRecordLog.prototype, "read").mockImplementation(() => {
      throw failure;
    });
    const verified = await desk.command(["verify"]);
    vi.restoreAllMocks();
    expect(verified).toMatchObject({ code: 1, out: "", err: expect.stringContaining(failure.message) });
  });

  it.each(["export", "ui"])("leaves no file if %s is stopped", async (command) => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const names = await readdir(desk.folder);
    const stopped = await desk.command([command, "order-1", "--out", "copy"], { stop: AbortSignal.abort() });
    expect(stopped).toMatchObject({ code: 130, out: "" });
    expect(await readdir(desk.folder)).toEqual(names);
  });

  it("cancels the move of an export that is stopped", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const stop = new AbortController();
    const opening = vi.spyOn(FileRecordLog.prototype, "open").mockImplementationOnce(function (
      this: FileRecordLog,
      ...args
    ) {
      stop.abort();
      opening.mockRestore();
      return this.open(...args);
    });
    const exporting = ["export", "order-1", "--move", "--out", "copy", "--yes"];
    expect(await desk.command(exporting, { stop: stop.signal })).toMatchObject({ code: 130 });
    expect(documentOf(await desk.command(["show", "order-1", "--json"]))).toMatchObject({ status: "waiting" });
    const { records } = itemsOf<{ records: { kind: string }[] }>(await desk.command(["log", "order-1", "--json"])).at(
      -1,
    )!;
    expect(records).toMatchObject([{ kind: "custody", state: "here" }]);
  });

  it("leaves no partial file and can be repeated", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.damage("order-1");
    for (const _time of [1, 2])
      expect(await desk.command(["export", "order-1", "--out", "copy"])).toMatchObject({ code: 6 });
    expect(await readdir(desk.folder)).not.toContain("copy");
  });

  it.each([
    [["show", "nobody"], 3, /There is no agent "nobody" in file:.*\.agent-persistence\./],
    [["list", "--after", "bogus"], 2, /"bogus" is no cursor/],
    [["diff", "order-1", "9-9"], 3, /There is no checkpoint "9-9" in agent "order-1"\. The command tree lists/],
    [["explain", "order-1"], 2, /There is no command explain: show <agent>/],
    [["ui", "order-1", "--out", "nowhere/page.html"], 3, /There is no folder .*nowhere for page\.html\.\n/],
    [["fork", "order-1", "", "--yes"], 2, /^agent-persistence: /],
    [["restore", "nowhere", "--yes"], 3, /There is no folder .*nowhere\.\n$/],
  ])("names the mistake and what to use instead: %j", async (args, code, message) => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    expect(await desk.command(args)).toMatchObject({ code, out: "", err: expect.stringMatching(message) });
  });

  it("names the given file, and no temporary one, if a page cannot be written", async () => {
    await using desk = await Desk.open();
    const page = join(desk.folder, "x".repeat(256));
    const pieces = Readable.from(["page"]) as AsyncIterable<string>;
    const error: unknown = await writeOver(page, pieces).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ message: `ENAMETOOLONG: name too long, write '${page}'`, path: page });
    expect(await readdir(desk.folder)).not.toContainEqual(expect.stringMatching(/^\.\w+\.tmp$/));
    // A name of the longest length can be written.
    await writeOver(join(desk.folder, "x".repeat(255)), Readable.from(["page"]) as AsyncIterable<string>);
  });

  it("keeps the existing page if another cannot be written completely", async () => {
    await using desk = await Desk.open();
    const page = join(desk.folder, "page.html");
    await writeFile(page, "before");
    async function* pieces(): AsyncGenerator<string> {
      yield "half";
      throw new Error("the storage is gone");
    }
    const names = await readdir(desk.folder);
    await expect(writeOver(page, pieces())).rejects.toThrow("the storage is gone");
    expect(await readFile(page, "utf8")).toBe("before");
    expect(await readdir(desk.folder)).toEqual(names);
  });
});

describe("a command with a confirmation", () => {
  it("prints its plan to stderr, so that a pipe gets only the result", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const withDesk = ["--yes", "--agent", `${deskModule}#desk`];
    const rolled = await desk.command(["rollback", "order-1", "1-2", ...withDesk]);
    expect(rolled).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Rolled back to 1-2: 1 call reverted, 2 stay/),
    });
    expect(rolled.err).toMatch(/Reverted, in this order\n.*book/s);
    const again = await desk.command(["rollback", "order-1", "1-2", ...withDesk]);
    expect(again.out).toBe("Rolled back to 1-2: 0 calls reverted, 1 before, 2 stay, 0 failed.\n");
    await desk.completes("order-2");
    const pruned = await desk.command(["prune", ...withDesk]);
    expect(pruned.err).toMatch(/order-2.*the whole agent.*1 agent will be deleted permanently/s);
    expect(pruned.out.match(/order-2/g)).toHaveLength(1);
  });

  it.each([
    ["answer", "--approve"],
    ["answer", "--reject", "no"],
    ["settle", "order-1", "--output", "1"],
    ["settle", "order-1", "--retry"],
    ["log", "order-1", "--kind", "bogus"],
    ["export", "order-1", "--out", "-"],
    ["fixture", "order-1", "--out", "-"],
    ["ui", "order-1", "--out", "-"],
    ["compare", "order-1", "--out", "-"],
    ["list", "--storage", "file:///x/%zz"],
    ["list", "--storage", "file://here"],
  ])("is refused if its target or choice is missing: %j", async (...args) => {
    await using desk = await Desk.open();
    await desk.crashes("order-1");
    const asked = ["answer", "settle"].includes(args[0] ?? "") ? [...args, "--yes"] : args;
    expect(await desk.command(asked)).toMatchObject({ code: 2, out: "" });
    expect(await readdir(desk.folder)).not.toContain("-");
  });

  it("prints its plan before the question, even with JSON output", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const withDesk = ["--json", "--agent", `${deskModule}#desk`];
    for (const [args, told] of [
      [["rollback", "order-1", "1-2"], /Reverted, in this order[^]*will go back to checkpoint 1-2/],
      [["prune"], /order-1 .*the whole agent[^]*will be deleted permanently/],
    ] as const) {
      const asked = await desk.command([...args, ...withDesk], { answers: [false] });
      expect(asked).toMatchObject({ code: 4, out: "", shown: ["Go ahead?"], err: expect.stringMatching(told) });
      expect((await desk.command([...args, ...withDesk])).err.trimEnd().split("\n")).toHaveLength(1);
    }
  });

  it("accepts an id that starts with a dash, as call ids can", async () => {
    await using desk = await Desk.open();
    await desk.crashes("order-1");
    const id = "-idLTyqfKv47YW1GHNqFG1";
    const missed = await desk.command(["settle", "order-1", id, "--retry", "--yes"]);
    expect(missed).toMatchObject({ code: 3, err: expect.stringContaining(`There is no call in doubt "${id}".`) });
  });

  it("suggests the next command to a person", async () => {
    await using desk = await Desk.open();
    await desk.crashes("order-1");
    const stuck = await desk.command(["resume", "order-1", "--yes", "--agent", `${deskModule}#desk`]);
    expect(stuck).toMatchObject({ code: 1, err: expect.stringContaining("settle <agent> lists all calls in doubt") });
    const why = (await desk.command(["list"])).out.split("\n")[1] ?? "";
    expect(why.length).toBeLessThan(250);
  });

  it("writes a receipt only to a new file", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.command(["export", "order-1", "-o", "copy"]);
    const importing = ["import", "copy", "--as", "order-2", "--yes", "--receipt"];
    expect(await desk.command([...importing, "copy"])).toMatchObject({ code: 2 });
    expect(await desk.command([...importing, "nowhere/receipt"])).toMatchObject({ code: 3 });
    expect(await desk.command(["show", "order-2"])).toMatchObject({ code: 3 });
  });

  it("accepts the prefix or name of a checkpoint in every option", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await persistence(deskOn(desk.storage)).agent("order-1").nameCheckpoint("1-3", "booked");
    await persistence(deskOn(desk.storage)).agent("order-1").nameCheckpoint("1-2", "booking");
    for (const [checkpoint, newId] of [["booked", "a"] as const, ["3-5", "b"] as const])
      expect(await desk.command(["fork", "order-1", newId, "--checkpoint", checkpoint, "--yes"])).toMatchObject({
        code: 0,
      });
    const forked = documentOf<{ head: { checkpointId: string } }>(await desk.command(["show", "a", "--json"]));
    const beginning = forked.head.checkpointId.split("-")[0] ?? "";
    expect(await desk.command(["fork", "a", "c", "--checkpoint", beginning, "--yes"])).toMatchObject({ code: 0 });
    expect(await desk.command(["export", "a", "--checkpoint", beginning, "-o", "copy"])).toMatchObject({ code: 0 });
    const wrong = ["resume", "order-1", "--checkpoint", "1-", "--yes", "--agent", `${deskModule}#desk`];
    expect(await desk.command(wrong)).toMatchObject({ code: 3, err: expect.stringContaining('"1-1", "1-2"') });
  });

  it("previews a rollback on the storage of the named agent", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await using other = await Desk.open();
    await other.crashes("order-1");
    process.env["DESK_FOLDER"] = desk.agents;
    const args = ["rollback", "order-1", "1-2", "--preview", "--json"];
    expect(documentOf(await other.command([...args, "--agent", `${deskModule}#desk`]))).toMatchObject({
      inDoubt: [],
    });
    expect(documentOf(await other.command(args))).toMatchObject({ inDoubt: [{ tool: "write" }] });
    expect(await other.command([...args, "--agent", deskModule, "--storage", "file:x"])).toMatchObject({ code: 2 });
  });
});

describe("a module that cannot be loaded", () => {
  it.each([
    ["throw new Error('no key');", "keys.mjs: no key"],
    ["export default () => { throw new Error('no key'); };", "keys.mjs#default: no key"],
  ])("is named in the message: %s", async (code, message) => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await writeFile(join(desk.folder, "keys.mjs"), code);
    const failed = await desk.command(["list", "--keys", "./keys.mjs"]);
    expect(failed).toMatchObject({ code: 1, err: expect.stringMatching(/^agent-persistence: Could not load .*/) });
    expect(failed.err).toContain(message);
  });
});

describe("a new file", () => {
  it("has its name only after all data is written, and replaces no file", async () => {
    await using desk = await Desk.open();
    const file = join(desk.folder, "order-1.archive");
    const seen: string[][] = [];
    async function* pieces() {
      yield "first";
      seen.push(await readdir(desk.folder));
      yield " second";
    }
    await writeNew(file, pieces());
    expect(seen).toEqual([[expect.stringMatching(/^\.[0-9a-f]{12}\.tmp$/)]]);
    expect(await readFile(file, "utf8")).toBe("first second");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await expect(writeNew(file, ["other"])).rejects.toMatchObject({ code: "EEXIST", path: file });
    expect(await readFile(file, "utf8")).toBe("first second");
    expect(await readdir(desk.folder)).toEqual(["order-1.archive"]);
  });
});
