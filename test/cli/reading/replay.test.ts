import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replayFixture, type RunFixture } from "agent-persistence/replay";
import { describe, expect, it } from "vitest";
import { Desk, deskModule } from "../support/Desk.ts";
import { deskOn } from "../support/desk/desk.mjs";
import { documentOf } from "../support/TestTerminal.ts";

describe("replay", () => {
  it("says that the code still matches a run, and calls no tool", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const done = await desk.done();
    const words = ["replay", "order-1", "--agent", `${deskModule}#desk`];
    expect(await desk.command(words)).toMatchObject({ code: 0, out: "order-1 matches its recording: completed.\n" });
    expect(documentOf(await desk.command([...words, "--json"]))).toMatchObject({ agentId: "order-1", matches: true });
    expect(await desk.done()).toEqual(done);
  });

  it("refuses a missing agent module and an unknown run", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    expect(await desk.command(["replay", "order-1"])).toMatchObject({ code: 2 });
    const words = ["replay", "order-1", "--run", "none", "--agent", `${deskModule}#desk`];
    expect(await desk.command(words)).toMatchObject({ code: 3 });
  });
});

describe("fixture", () => {
  it("writes a run that replays without its storage, with redacted paths", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const file = join(desk.folder, "run.json");
    const words = ["fixture", "order-1", "--out", file, "--redact", "book.output.room", "none.here"];
    const answered = await desk.command(words);
    expect(answered).toMatchObject({ code: 0, out: expect.stringContaining("Wrote a run of order-1 to") });
    expect(answered.err).toContain("none.here");
    const fixture = JSON.parse(await readFile(file, "utf8")) as RunFixture;
    expect(fixture).toMatchObject({ version: 1, agentId: "order-1", redacted: ["book.output.room", "none.here"] });
    expect(await replayFixture(deskOn(desk.storage), fixture)).toMatchObject({ matches: true });
    expect(await desk.command(["fixture", "order-1"])).toMatchObject({ code: 2 });
    expect(await desk.command(["fixture", "order-1", "--run", "none", "--out", file])).toMatchObject({ code: 3 });
  });
});
