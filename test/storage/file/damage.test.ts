import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { AgentPersistenceError } from "../../../src/errors/AgentPersistenceError.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { decodeState, encodeState } from "../../../src/storage/file/layout/stateJson.ts";
import {
  append,
  collect,
  nextOwner,
  segmentPaths,
  summaryOf,
  testDirectory,
  testLog,
  textsOf,
} from "./support/fixture.ts";
import { TestClock } from "./support/TestClock.ts";
import { every } from "../../soak/cases.ts";

const flips = [0x01, 0x80];

/** Of so many bytes, one is changed. */
const stride = every(7, 1);

/** Reads with each byte of each segment changed: a typed error, or what was stored. */
async function expectFound(directory: string, texts: readonly string[]): Promise<void> {
  const log = testLog(directory);
  for (const path of await segmentPaths(directory, "a")) {
    const whole = await readFile(path);
    for (let at = 0; at < whole.length; at += stride) {
      for (const flip of flips) {
        const changed = Buffer.from(whole);
        changed[at] = (changed[at] ?? 0) ^ flip;
        await writeFile(path, changed);
        const outcome: unknown = await collect(log.read("a"))
          .then(textsOf)
          .catch((error: unknown) => error);
        if (outcome instanceof AgentPersistenceError) continue;
        expect(outcome, `${path} byte ${at}`).toEqual(texts);
      }
    }
    await writeFile(path, whole);
  }
}

it("whole lines removed from the end of a log stay undetected without other evidence", async () => {
  const directory = await testDirectory();
  const log = testLog(directory);
  const owned = await log.open("a", nextOwner());
  for (const text of ["one", "two", "three"]) await append(owned, text);
  const ended = await readFile((await segmentPaths(directory, "a"))[0] ?? "");
  await owned.release();
  const [path = ""] = await segmentPaths(directory, "a");
  const lines = ended.toString().split("\n").slice(0, -1);
  for (const [count, texts] of [
    [5, ["one", "two", "three"]],
    [4, ["one", "two"]],
    [3, ["one"]],
    [2, []],
  ] as const) {
    await writeFile(
      path,
      lines
        .slice(0, count)
        .map((line) => `${line}\n`)
        .join(""),
    );
    expect(textsOf(await collect(log.read("a")))).toEqual(texts);
  }
  await writeFile(path, "");
  expect(await collect(log.read("a"))).toEqual([]);
});

describe("a changed byte at any position", () => {
  it("in the log of one owner is found", async () => {
    const directory = await testDirectory();
    const owned = await testLog(directory).open("a", nextOwner());
    for (const text of ["one", "two", "three"]) await append(owned, text, { snapshot: text === "two" });
    await expectFound(directory, ["one", "two", "three"]);
  });

  it("in a log copied by a later owner is found", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    for (const text of ["one", "two"]) {
      const owned = await log.open("a", nextOwner());
      await append(owned, text);
      await owned.release();
    }
    await (await log.open("a", nextOwner())).release();
    await expectFound(directory, ["one", "two"]);
  });

  it("in the newest segment above a listed one is found", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const large = "x".repeat(40_000);
    const first = await log.open("a", nextOwner());
    for (let n = 0; n < 3; n++) await append(first, large);
    await append(first, "last");
    await first.release();
    const second = await log.open("a", nextOwner());
    await append(second, "next");
    const [listed = "", newest = ""] = await segmentPaths(directory, "a");
    const texts = [large, large, large, "last", "next"];
    const whole = await readFile(newest);
    for (let at = 0; at < whole.length; at += stride) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await writeFile(newest, changed);
      const outcome: unknown = await collect(log.read("a", { after: 3 }))
        .then(textsOf)
        .catch((error: unknown) => error);
      if (outcome instanceof AgentPersistenceError) continue;
      expect(outcome).toEqual(texts.slice(3));
    }
    await writeFile(newest, whole);
    const listedBytes = await readFile(listed);
    await writeFile(listed, listedBytes.subarray(0, 1000));
    await expect(collect(log.read("a"))).rejects.toMatchObject({ code: "corrupt_log", file: listed });
  });

  it("in state.json makes the file unreadable, never misread", () => {
    const state = {
      summary: { ...summaryOf("a", "waiting"), runId: "r", dueAt: "2027-01-01T00:00:00.000Z", requestIds: ["q"] },
      generation: 3,
      changing: false,
    };
    const text = encodeState(state, nodeSha256);
    expect(decodeState(text, nodeSha256)).toEqual(state);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at++) {
      for (const flip of flips) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ flip;
        expect(decodeState(changed.toString(), nodeSha256)).toBeUndefined();
      }
    }
  });

  it("in a log before pruning is found and stops the removal", async () => {
    const { path, whole } = await toBePruned();
    for (let at = whole.indexOf('["'); at < whole.length; at += every(55, 11)) {
      const { owned, path: file } = await toBePruned();
      const changed = Buffer.from(await readFile(file));
      changed[at] = (changed[at] ?? 0) ^ 1;
      await writeFile(file, changed);
      await expect(owned.prune(), `${path} byte ${at}`).rejects.toMatchObject({ code: "corrupt_log", file });
      expect(await readFile(file)).toEqual(changed);
    }
  });
});

describe("damage of one line", () => {
  /** The texts that each owner of a log appends. */
  const owners = {
    "all lines copied": [["one", "two", "three"], ["four"]],
    "a listed segment": [
      ["one", "two", "three"].map((text) => `${text} ${"x".repeat(70_000)}`).concat("four"),
      ["five"],
    ],
    "no line copied": [["one"]],
  };

  async function openedBy(texts: readonly (readonly string[])[]) {
    const directory = await testDirectory();
    const log = testLog(directory);
    for (const each of texts) {
      const owned = await log.open("a", nextOwner());
      for (const text of each) await append(owned, text);
      await owned.release();
    }
    const path = (await segmentPaths(directory, "a")).at(-1) ?? "";
    const lines = (await readFile(path, "utf8")).split("\n");
    return { log, path, lines, openAt: lines.findIndex((line) => line.startsWith('{"open"')) };
  }

  it.each(Object.entries(owners))("names its line and leaves the log before it readable: %s", async (_name, texts) => {
    const { log, path, lines, openAt } = await openedBy(texts);
    const all = texts.flat();
    const firstCopied = all.length - (texts.at(-1)?.length ?? 0) - (openAt - 1);
    for (let at = 1; at <= openAt; at++) {
      const before = firstCopied + at - 1;
      for (const changed of [lines[at]?.replace(/.{3}$/, "~~~"), `~${lines[at]?.slice(1)}`]) {
        await writeFile(path, lines.with(at, changed ?? "").join("\n"));
        const error: unknown = await collect(log.read("a")).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: "corrupt_log", file: path, line: at + 1 });
        expect(error).toHaveProperty("lastPosition", before === 0 ? undefined : before);
        await expect(log.open("a", nextOwner())).rejects.toMatchObject({ code: "corrupt_log", line: at + 1 });
        await expect(collect(log.read("a", { upTo: before + 1 }))).rejects.toMatchObject({ code: "corrupt_log" });
        if (before > 0) expect(textsOf(await collect(log.read("a", { upTo: before })))).toEqual(all.slice(0, before));
      }
    }
  });

  it("names the last append of a closed log", async () => {
    const { log, path, lines } = await openedBy(owners["all lines copied"]);
    const at = lines.length - 3;
    await writeFile(path, lines.with(at, lines[at]?.replace(/.{3}$/, "~~~") ?? "").join("\n"));
    const damage = { code: "corrupt_log", file: path, line: at + 1, lastPosition: 3 };
    await expect(collect(log.read("a"))).rejects.toMatchObject(damage);
    await expect(log.open("a", nextOwner())).rejects.toMatchObject(damage);
  });

  it("names the line after a removed line", async () => {
    const { log, path, lines, openAt } = await openedBy(owners["all lines copied"]);
    const places = [];
    for (let at = 1; at <= openAt; at++) {
      await writeFile(path, lines.toSpliced(at, 1).join("\n"));
      places.push(await collect(log.read("a")).catch((error: unknown) => error));
    }
    expect(places).toMatchObject([
      { line: 2, found: "position 1 was expected and 2 found" },
      { line: 3, found: "position 2 was expected and 3 found", lastPosition: 1 },
      { line: 4, found: "the line does not match the lines before it", lastPosition: 2 },
      { line: 5, found: "the line that validates the segment is missing before it", lastPosition: 3 },
    ]);
  });
});

/** A log of which a record names 2 and 3 as pruned. */
async function toBePruned() {
  const directory = await testDirectory();
  const log = testLog(directory);
  const owned = await log.open("a", nextOwner());
  for (const text of ["one", "two", "three", "four"]) await append(owned, text, { snapshot: text === "four" });
  const entries = await collect(log.read("a"));
  const gaps = [{ first: 2, last: 3, before: entries[0]?.checksum, after: entries[2]?.checksum }];
  await owned.append({ id: "p", records: [{ kind: "pruned", gaps } as never] }, 4);
  const [path = ""] = await segmentPaths(directory, "a");
  return { owned, path, whole: await readFile(path) };
}

describe("a damaged log", () => {
  const lines = ["its claim", "its opening", "its first append", "its last append"];
  it.each([...lines.entries()])("can be dropped, and stays as it is otherwise: line %i, %s", async (line) => {
    const directory = await testDirectory();
    const owned = await testLog(directory).open("a", nextOwner());
    for (const text of ["one", "two"]) await append(owned, text, { summary: summaryOf("a", "waiting") });
    await owned.release();
    const [path = ""] = await segmentPaths(directory, "a");
    const stored = (await readFile(path, "utf8")).split("\n");
    stored[line] = stored[line]!.replace(/[a-z]/, "_");
    await writeFile(path, stored.join("\n"));
    const clock = new TestClock();
    const log = testLog(directory, { clock });
    const opened = async () => {
      clock.advance(60_000);
      return log.open("a", { ...nextOwner(), drops: true });
    };
    const found = () => collect(log.read("a")).then(textsOf, (error: AgentPersistenceError) => error.code);
    const before = await found();
    const looking = await opened().catch(() => opened());
    if (looking.damage) await expect(append(looking, "three")).rejects.toMatchObject({ code: "corrupt_log" });
    await looking.release();
    expect(await found()).toEqual(before);
    await (await opened()).drop();
    expect(await found()).toEqual([]);
    const next = await log.open("a", nextOwner());
    await append(next, "again");
    expect(await found()).toEqual(["again"]);
    expect(await collect(log.list())).toEqual([]);
  });
});
