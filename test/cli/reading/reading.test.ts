import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, strategy, tool } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import textWidth from "fast-string-truncated-width";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asking } from "../../persistence/support/asking.ts";
import { Desk, deskModule } from "../support/Desk.ts";
import { deskOn } from "../support/desk/desk.mjs";
import { documentOf, itemsOf } from "../support/TestTerminal.ts";

const hour = 3_600_000;

/** An agent that was rolled back to where its first calls were asked for. */
async function rolledBack(desk: Desk): Promise<void> {
  await desk.completes("order-1");
  await persistence(deskOn(desk.storage)).agent("order-1").rollbackToCheckpoint("1-2");
}

async function agentsIn(desk: Desk): Promise<readonly object[]> {
  const agents: object[] = [];
  for await (const agent of inspect(desk.storage).agents()) agents.push(agent);
  return agents;
}

describe("reading commands", () => {
  it("create and change no file, even in the storage directory", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.waits("order-2");
    await persistence(deskOn(desk.storage)).deleteAgent("order-1");
    const files = () => readdir(desk.agents, { recursive: true });
    const before = await files();
    for (const words of [["list"], ["list", "--status", "waiting"], ["list", "--limit", "1"], ["tasks", "list"]])
      expect(await desk.command(words)).toMatchObject({ code: 0 });
    for (const words of [["answer"], ["show", "order-2"], ["tree", "order-2"], ["log", "order-2"], ["verify"]])
      expect(await desk.command(words)).toMatchObject({ code: 0 });
    for await (const { agentId } of inspect(desk.storage).agents({ status: "waiting" }))
      expect(agentId).toBe("order-2");
    for await (const { agentId } of inspect(desk.storage).agents({ limit: 1 })) expect(agentId).toBe("order-2");
    expect(await files()).toEqual(before);
  });

  it("verify reads an agent once, and accepts an id with a leading dash and 21 further characters", async () => {
    await using desk = await Desk.open();
    const agentId = "-abcdefghijklmnopqrstu";
    await desk.waits(agentId);
    for (const words of [[agentId], ["--", agentId], [agentId, agentId]])
      expect(itemsOf(await desk.command(["verify", "--json", ...words]))).toEqual([
        expect.objectContaining({ agentId, damage: [] }),
      ]);
  });

  it("list explains why an agent in progress is stuck", async () => {
    await using desk = await Desk.open();
    await desk.crashes("order-1");
    expect((await desk.command(["list"])).out).toMatch(/\norder-1 {2}in_progress .* no owner, 2 calls in doubt\n$/);
    const [listed] = itemsOf(await desk.command(["list", "--json"]));
    expect(listed).toMatchObject({ stuck: { owner: "none", inDoubt: 2, openRollback: false } });
    const agents = await agentsIn(desk);
    expect(agents).toMatchObject([{ status: "in_progress" }]);
    expect(agents[0]).not.toHaveProperty("stuck");
  });

  it("list and show say that a wait is over, and what continues the agent", async () => {
    await using desk = await Desk.open();
    const graph = asking(async (_input, context) => (await context.sleep(hour), "rested"));
    const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: graph });
    await agent.install(Persistence, { storage: desk.storage }).run("go", { agentId: "napper" });
    await desk.waits("order-1");
    for (const words of [["list"], ["show", "napper"]]) {
      expect((await desk.command(words)).out).toMatch(/Sleeps until /);
      const later = await desk.command(words, { now: Date.now() + 2 * hour });
      expect(later.out).toMatch(/waiting .*due 1 hr\. ago: resume it/);
    }
    const durable = persistence(deskOn(desk.storage)).agent("order-1");
    for (const { requestId } of await durable.getRequests()) await durable.answer(requestId, { approved: true });
    expect((await desk.command(["list"])).out).toMatch(/order-1 +in_progress .*no owner: resume it\n/);
  });

  it("show distinguishes calls that a resume executes again from calls in doubt", async () => {
    await using desk = await Desk.open();
    const look = tool({
      name: "look",
      description: "Looks.",
      inputSchema: z.object({}),
      effect: "idempotent",
      execute: () => "seen",
    });
    const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "look", input: {} }] }, "Done."]);
    const agent = new AIAgent({ promptExecutor, llmModel: "none", tools: [look] });
    const crashing = agent.install(Persistence, { storage: crashAfter(desk.storage, 3) });
    await crashing.run("go", { agentId: "looker" }).catch(() => {});
    const { out } = await desk.command(["show", "looker"]);
    expect(out).toMatch(/Interrupted calls, which a resume executes again\n.*\n.*look +in_doubt/);
    expect(out).not.toContain("Calls in doubt");
    expect((await desk.command(["list"])).out).toMatch(/\nlooker +in_progress .* no owner: resume it\n$/);
  });

  it("tree names createCheckpoint() as the maker of a checkpoint", async () => {
    await using desk = await Desk.open();
    const graph = asking(async (_input, context) => (await persistence(context).createCheckpoint(), "saved"));
    const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: graph });
    await agent.install(Persistence, { storage: desk.storage }).run("go", { agentId: "saver" });
    const { out } = await desk.command(["tree", "saver"]);
    expect(out).toContain("createCheckpoint()");
    expect(out).not.toContain("asked_for");
  });

  it("show the model after a rollback", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const modelIn = async () => /^model .*$/m.exec((await desk.command(["show", "order-1"])).out)?.[0];
    expect(await modelIn()).toMatch(/^model +scripted/);
    await persistence(deskOn(desk.storage)).agent("order-1").rollbackToCheckpoint("1-2");
    expect(await modelIn()).toMatch(/^model +scripted/);
  });

  it("shorten long ids in tables, accept shortened ids, and print whole ids for programs", async () => {
    await using desk = await Desk.open();
    const id = `order-${"7".repeat(80)}`;
    await desk.waits(id);
    const [, shown = ""] = /\n(\S+)/.exec((await desk.command(["list"])).out) ?? [];
    expect(shown).toBe(`${id.slice(0, 59)}…`);
    expect((await desk.command(["show", shown])).out).toContain(id);
    expect(itemsOf(await desk.command(["list", "--json"]))).toMatchObject([{ agentId: id }]);
  });

  it("list agents with status and reason, as a table and as JSON", async () => {
    await using desk = await Desk.open();
    expect(await desk.command(["list"])).toMatchObject({ code: 2 });
    await desk.completes("order-1");
    await desk.waits("order-2");
    const listed = await desk.command(["list"]);
    expect(listed).toMatchObject({ code: 0, err: "" });
    expect(listed.out).toMatch(
      /^AGENT {4}STATUS {5}UPDATED .*WHY\norder-1 {2}completed .*\norder-2 {2}waiting .*Refund 700 cents\?\n$/,
    );
    const documents = itemsOf<{ agentId: string; cursor: string }>(await desk.command(["list", "--json"]));
    expect(documents.map(({ agentId }) => agentId)).toEqual(["order-1", "order-2"]);
    const behind = await desk.command(["list", "--json", "--after", documents[0]?.cursor ?? ""]);
    expect(itemsOf(behind)).toEqual(documents.slice(1));
    const one = await desk.command(["list", "--limit", "1"]);
    expect(one).toMatchObject({ code: 0, err: "There are more than 1. To see more, raise --limit.\n" });
    expect((await desk.command(["list", "--status", "waiting", "failed"])).out).not.toContain("order-1");
    expect(await desk.command(["list", "--limit", "-1"])).toMatchObject({ code: 2, out: "" });
    expect(await desk.command(["list", "--status", "done"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(/'--status <status...>' argument 'done' is invalid.*completed/),
    });
  });

  it("show an agent with its requests and calls in doubt", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.crashes("crashed");
    const waiting = await desk.command(["show", "order-1"]);
    expect(waiting.out).toMatch(/status +waiting {2}Refund 700 cents\?.*It asks\n.*human_approval/s);
    expect((await desk.command(["show", "c"])).out).toMatch(/Calls in doubt\n.*book +in_doubt .*write +in_doubt/s);
    expect(documentOf(await desk.command(["show", "crashed", "--json"]))).toMatchObject({
      agentId: "crashed",
      inDoubt: [{ tool: "book" }, { tool: "write" }],
    });
    expect(await desk.command(["show", "nobody"])).toMatchObject({ code: 3, out: "" });
  });

  it("show a checkpoint with its messages, by the prefix of its id or by its name", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await persistence(deskOn(desk.storage)).agent("order-1").nameCheckpoint("1-3", "booked");
    const shown = await desk.command(["show", "order", "booked"]);
    expect(shown.out).toMatch(
      /checkpoint +1-3 {2}"booked".*user\n {2}the order order-1\nassistant\n {2}I book and write/s,
    );
    expect(shown.out).toMatch(
      /Tool calls since its parent\n.*book +succeeded +possible.*write +succeeded +irreversible/s,
    );
    expect((await desk.command(["show", "order-1", "3-6", "--messages", "1"])).out).toMatch(/the last 1 of \d+/);
    expect(await desk.command(["show", "order-1", "1-"])).toMatchObject({
      code: 3,
      err: expect.stringContaining('is ambiguous. It matches "1-1", "1-2"'),
    });
    expect(await desk.command(["show", "order-1", "9"])).toMatchObject({ code: 3 });
  });

  it("draw the tree with the head and the branch that a rollback left", async () => {
    await using desk = await Desk.open();
    await rolledBack(desk);
    const { out } = await desk.command(["tree", "order-1"]);
    const graph = out.split("\n").map((line) => line.trimEnd());
    expect(graph.slice(1, 4)).toEqual([expect.stringMatching(/^● +1-1/), expect.stringMatching(/^● +1-2/), "├─╮"]);
    expect(out).toMatch(/^ {2}● +4-7 +callTools {2}← head +rollback/m);
    expect((await desk.command(["tree", "order-1", "--last", "2"])).err).toBe(
      "The newest 2 of 7. To see more, raise --last.\n",
    );
    expect(documentOf(await desk.command(["tree", "order-1", "--last", "0", "--json"]))).toMatchObject({ total: 7 });
  });

  it("show all or selected records", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const entries = itemsOf<{ position: number }>(await desk.command(["log", "order-1", "--json"]));
    expect(entries.map(({ position }) => position)).toEqual(entries.map((_, at) => at + 1));
    const some = itemsOf<{ records: { kind: string }[] }>(
      await desk.command(["log", "order-1", "--json", "--after", "1", "--limit", "1", "--kind", "intent"]),
    );
    expect(some.flatMap(({ records }) => records.map(({ kind }) => kind))).toEqual(["intent", "intent"]);
    const limited = await desk.command(["log", "order-1", "--json", "--limit", "3"]);
    expect(itemsOf(limited)).toEqual(entries.slice(0, 1));
    expect((await desk.command(["log", "order-1"])).out).toMatch(/^ {5}1 {2}run .*\n[^]* {5}3 {2}intent/);
    expect(await desk.command(["log", "order-1", "--follow", "--limit", "3"])).toMatchObject({ code: 2, out: "" });
    const stop = new AbortController();
    const onOut = () => stop.abort();
    const followed = await desk.command(["log", "order-1", "--follow", "--json"], { onOut, stop: stop.signal });
    expect(followed.code).toBe(130);
    expect(itemsOf(followed)).toEqual(entries);
  });

  it("show the differences between checkpoints and the effects of a rollback", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const differs = await desk.command(["diff", "order-1", "1-2"]);
    expect(differs.out).toMatch(/^- 1-2 .*\n\+ 3-6 .*\n[^]*Messages \(2 in both\)\n\+ tool\n[^]*\+ {3}All is done\.\n/);
    expect(documentOf(await desk.command(["diff", "order-1", "1-1", "1-3", "--json"]))).toMatchObject({
      messages: { removed: [], added: [{}, {}] },
    });
    const preview = await desk.command(["rollback", "order-1", "1-2", "--preview"]);
    expect(preview.out).toMatch(/Reverted, in this order\n.*\n.*book.*Stays: it has no inverse\n.*refund.*write/s);
    expect(documentOf(await desk.command(["rollback", "order-1", "1-2", "--preview", "--json"]))).toMatchObject({
      revert: [{ tool: "book" }],
      irreversible: [{ tool: "refund" }, { tool: "write" }],
    });
    const rolled = await desk.command([
      "rollback",
      "order-1",
      "1-2",
      "--agent",
      `${deskModule}#desk`,
      "--yes",
      "--json",
    ]);
    expect(documentOf(rolled)).toMatchObject({ checkpointId: "1-2", reverted: [{ toolName: "book" }] });
    expect((await desk.done()).at(-1)).toBe("freed blue");
  });

  it("write a timeline to a page and serve those of all agents until stopped", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    expect(await desk.command(["ui", "--out", "page.html"])).toMatchObject({ code: 2 });
    expect(await desk.command(["ui", "order", "--out", "page.html"])).toMatchObject({ code: 0, err: "" });
    const page = await readFile(join(desk.folder, "page.html"), "utf8");
    expect(page).toMatch(/^<!doctype html>/i);
    const redacted = ["ui", "order", "--out", "page.html", "--redact", "refund.input", "refund.output.no"];
    expect(await desk.command(redacted)).toMatchObject({
      code: 0,
      err: 'The paths "refund.output.no" matched no value.\n',
    });
    expect(documentOf(await desk.command([...redacted, "--json"]))).toMatchObject({
      hidden: { idle: ["refund.output.no"] },
    });
    const stop = new AbortController();
    const pages: Promise<string>[] = [];
    const onOut = (text: string) => {
      const answered = fetch(text.trim()).then((response) => response.text());
      pages.push(answered.finally(() => stop.abort()));
    };
    expect(await desk.command(["ui", "order-1"], { onOut, stop: stop.signal })).toMatchObject({ code: 130 });
    expect(await pages[0]).toMatch(/^<!doctype html>/i);
  });

  it("show the differences of texts with many other lines without a long search", async () => {
    await using desk = await Desk.open();
    const cpuOf = async (count: number) => {
      const graph = strategy<string, string>("texts", (g) => {
        const [first, second] = [g.node("a", () => "a\n".repeat(count)), g.node("b", () => "b\n".repeat(count))];
        g.edge(g.start, first);
        g.edge(first, second);
        g.edge(second, g.finish);
      });
      await new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: graph })
        .install(Persistence, { storage: desk.storage })
        .run("go", { agentId: `of-${count}` });
      const { user } = process.cpuUsage();
      const { out } = await desk.command(["diff", `of-${count}`, "1-2", "1-3"]);
      expect(out).toMatch(/Input\n- a[^]*\+ b/);
      return process.cpuUsage().user - user;
    };
    await cpuOf(10);
    expect(await cpuOf(12_000)).toBeLessThan(20 * (await cpuOf(1_500)));
  });

  it("color only on a terminal, and not with NO_COLOR or --no-color", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const colored = async (args: readonly string[], env = {}, columns?: number) =>
      (await desk.command(args, { env, ...(columns !== undefined && { columns }) })).out.includes("\x1b[");
    expect(await colored(["list"], {}, 100)).toBe(true);
    expect(await colored(["list"])).toBe(false);
    expect(await colored(["list"], { NO_COLOR: "1" }, 100)).toBe(false);
    expect(await colored(["list"], { TERM: "dumb" }, 100)).toBe(false);
    expect(await colored(["list", "--no-color"], {}, 100)).toBe(false);
    expect(await colored(["list", "--json"], {}, 100)).toBe(false);
  });
});

describe("hostile ids and payloads", () => {
  const evil = "\x1b[31m\u202eevil\x07\n</script>\u{e0041}";
  const obeyed = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;

  it("are printed without their control characters by every command, and fit a narrow terminal", async () => {
    await using desk = await Desk.open();
    const promptExecutor = scriptedModel([`${evil} ${"x".repeat(5_000_000)}`]);
    const agent = new AIAgent({ promptExecutor, llmModel: evil, systemPrompt: evil });
    await agent.install(Persistence, { storage: desk.storage }).run(evil, { agentId: evil, runId: `${evil}-run` });
    await persistence(agent).agent(evil).nameCheckpoint("1-2", evil);
    const commands = [
      ["list"],
      ["show", evil],
      ["show", evil, evil],
      ["tree", evil],
      ["log", evil],
      ["diff", evil, "1-1"],
      ["verify"],
      ["rollback", evil, "1-1", "--preview"],
      ["fork", evil, `${evil}2`, "--yes"],
      ["show", `${evil}nobody`],
      [evil],
    ];
    for (const args of commands) {
      const { out, err } = await desk.command([...args, "--no-color"], { columns: 50 });
      for (const text of [out, err.replaceAll("\r", "").replaceAll("\x1b[K", "")]) expect(text).not.toMatch(obeyed);
      const widest = Math.max(...out.split("\n").map((line) => textWidth(line).width));
      if (["list", "tree"].includes(args[0] ?? "")) expect(widest).toBeLessThanOrEqual(50);
      expect(out.length).toBeLessThan(300_000);
    }
    for (const args of [["list"], ["tree", evil], ["log", evil], ["show", `${evil}nobody`]]) {
      const { out, err } = await desk.command([...args, "--json"]);
      for (const text of [out, err]) expect(text).not.toMatch(obeyed);
    }
    expect(itemsOf(await desk.command(["list", "--json"]))).toMatchObject([{ agentId: evil }, { agentId: `${evil}2` }]);
  });
});
