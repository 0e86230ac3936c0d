import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Desk, deskModule } from "./support/Desk.ts";
import { documentOf, itemsOf } from "./support/TestTerminal.ts";

const withDesk = ["--agent", `${deskModule}#desk`, "--yes"];

describe("options of ui", () => {
  it("redact a path, show secrets, and keep only the newest steps", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const page = async (...options: string[]): Promise<string> => {
      const args = ["ui", "order-1", "--out", "page.html", ...options];
      expect(await desk.command(args)).toMatchObject({ code: 0 });
      const html = await readFile(join(desk.folder, "page.html"), "utf8");
      return /id="timeline-data">(.*?)<\/script>/s.exec(html)?.[1] ?? "";
    };
    const whole = await page();
    expect(whole).toContain("blue");
    expect(whole).toContain('"off":false');
    expect(await page("--redact", "book.input.room", "book.output")).not.toContain("blue");
    expect(await page("--show-secrets")).toContain('"off":true');
    expect((await page("--last", "1")).length).toBeLessThan(whole.length);
    expect(await desk.command(["ui", "order-1", "--redact", "a..b", "--out", "p"])).toMatchObject({ code: 2 });
  });

  it("show costs from a price file", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await writeFile(join(desk.folder, "prices.json"), '{ "models": { "*": { "input": 1, "output": 2 } } }');
    const args = ["ui", "order-1", "--out", "page.html", "--prices"];
    expect(await desk.command([...args, "prices.json"])).toMatchObject({ code: 0 });
    expect(await readFile(join(desk.folder, "page.html"), "utf8")).toContain('"cost":{"amount":');
    await writeFile(join(desk.folder, "prices.json"), '{ "models": { "*": { "input": "1" } } }');
    expect(await desk.command([...args, "prices.json"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("prices.models"),
    });
    expect(await desk.command([...args, "none.json"])).toMatchObject({ code: 3 });
  });

  it("serve at a port and report a port in use", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { readonly port: number };
    const failed = await desk.command(["ui", "--port", String(port)], { stop: AbortSignal.abort() });
    expect(failed).toMatchObject({ code: 1, out: "", err: expect.stringContaining("EADDRINUSE") });
    taken.close();
    await once(taken, "close");
    const served = await desk.command(["ui", "--port", String(port), "--json"], { stop: AbortSignal.abort() });
    expect(documentOf<{ url: string }>(served).url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/.{32}/$`));
    expect(await desk.command(["ui", "--port", "70000"])).toMatchObject({ code: 2 });
  });
});

describe("options of commands with changes", () => {
  it("--leave continues after a failed inverse, which otherwise keeps the rollback open", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    vi.stubEnv("DESK_BROKEN", "1");
    const stopped = await desk.command(["rollback", "order-1", "1-2", ...withDesk]);
    expect(stopped).toMatchObject({ code: 1, out: "" });
    expect((await desk.command(["show", "order-1"])).out).toContain("A rollback to 1-2 is not over.");
    const left = await desk.command(["rollback", "order-1", "1-2", "--leave", ...withDesk]);
    expect(left).toMatchObject({ code: 1, out: expect.stringContaining("1 failed") });
    expect((await desk.command(["show", "order-1"])).out).not.toContain("is not over");
  });

  it("rollback can target a checkpoint that a rollback left, and reports calls that stay reverted", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.command(["rollback", "order-1", "1-2", ...withDesk]);
    const preview = await desk.command(["rollback", "order-1", "1-3", "--preview"]);
    expect(preview.out).toMatch(
      /This is a redo: it reverts to 1-2[^]*Stays reverted: the call is not made again[^]*book/,
    );
    const redone = await desk.command(["rollback", "order-1", "1-3", ...withDesk]);
    expect(redone).toMatchObject({ code: 0 });
    expect(redone.out).toMatch(/^Redone to 1-3: 0 calls reverted[^]*Calls that stay reverted[^]*book /);
    expect((await desk.command(["show", "order-1", "--json"])).out).not.toContain("openRollback");
  });

  it("--take-over runs a copy, which is otherwise refused", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.command(["export", "order-1", "--out", "copy"]);
    await using there = await Desk.open();
    const copy = join(desk.folder, "copy");
    expect(await there.command(["import", copy, "--storage", `file:${there.agents}`, "--yes"])).toMatchObject({
      code: 0,
    });
    const refused = await there.command(["resume", "order-1", ...withDesk]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("resume <agent> --take-over") });
    const taken = await there.command(["resume", "order-1", "--take-over", ...withDesk]);
    expect(taken).toMatchObject({ code: 0, out: expect.stringMatching(/^order-1 is waiting\./) });
  });

  it("--error and --unknown settle a call", async () => {
    await using desk = await Desk.open();
    await desk.crashes("order-1");
    const [book, letter] = documentOf<{ toolCallId: string }[]>(await desk.command(["settle", "order-1", "--json"]));
    const settle = (id = "", ...how: string[]) => desk.command(["settle", "order-1", id, ...how, "--yes"]);
    expect((await settle(book?.toolCallId, "--error", "no room")).err).toContain(
      "the call failed without effect: no room",
    );
    expect((await settle(letter?.toolCallId, "--unknown")).err).toContain("continues without knowing");
    const done = await desk.command(["resume", "order-1", ...withDesk]);
    expect(done).toMatchObject({ code: 0, out: expect.stringMatching(/^order-1 is waiting\./) });
  });
});

describe("help", () => {
  it("lists every command, its options, and the version", async () => {
    await using desk = await Desk.open();
    expect(await desk.command(["--version"])).toMatchObject({ code: 0, out: "0.0.0\n", err: "" });
    const help = await desk.command(["--help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    for (const name of ["list", "show", "tree", "log", "diff", "verify", "salvage", "rollback", "resume", "settle"])
      expect(help.out).toContain(`\n  ${name} `);
    expect((await desk.command(["rollback", "--help"])).out).toMatch(/--preview .*\n.*--leave /);
    expect(await desk.command([])).toMatchObject({ code: 2, out: "" });
    expect(itemsOf(await desk.command(["list", "--json", "--storage", "file:."]))).toEqual([]);
  });
});
