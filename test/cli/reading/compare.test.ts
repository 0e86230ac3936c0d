import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Desk } from "../support/Desk.ts";
import { documentOf } from "../support/TestTerminal.ts";

describe("compare", () => {
  it("says that two runs of the same code are the same, and exits with 0", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const answered = await desk.command(["compare", "order-1", "order-1"]);
    expect(answered).toMatchObject({ code: 0, err: "" });
    expect(answered.out).toContain("The runs are the same.");
    expect(answered.out).toMatch(/status +completed +completed/);
  });

  it("shows the first difference, changed messages and removed steps, and exits with 7", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.waits("order-2");
    const answered = await desk.command(["compare", "order-1", "order-2"]);
    expect(answered).toMatchObject({ code: 7, err: "" });
    expect(answered.out).toContain("The first difference is in step 1, node callModel.");
    expect(answered.out).toMatch(/^- user: the order order-1$/m);
    expect(answered.out).toMatch(/^\+ user: the order order-2$/m);
    expect(answered.out).toMatch(/status: completed → waiting/);
    const json = await desk.command(["compare", "order-1", "order-2", "--json"]);
    expect(json.code).toBe(7);
    expect(documentOf(json)).toMatchObject({
      isSame: false,
      firstDivergence: 0,
      status: { before: "completed", after: "waiting" },
      before: { agentId: "order-1" },
      after: { agentId: "order-2" },
    });
  });

  it("compares two runs of one agent, with costs", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const prices = join(desk.folder, "prices.json");
    await writeFile(prices, JSON.stringify({ models: { scripted: { input: 1, output: 2 } } }));
    const [run] = (documentOf(await desk.command(["show", "order-1", "--json"])) as { runs: { runId: string }[] }).runs;
    const runId = run?.runId ?? "";
    const words = ["compare", "order-1", "--run", runId, "--other-run", runId, "--prices", prices];
    expect(await desk.command(words)).toMatchObject({ code: 0, out: expect.stringMatching(/cost +\$0\.00 +\$0\.00/) });
    await writeFile(prices, "USD");
    const { code, err } = await desk.command(words);
    expect([code, err]).toEqual([2, expect.stringMatching(/prices\.json is not a JSON file with prices: .*JSON\n$/)]);
  });

  it("refuses one run, unknown runs and agents, with the documented exit codes", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    expect(await desk.command(["compare", "order-1"])).toMatchObject({ code: 2 });
    expect(await desk.command(["compare", "order-1", "--other-run", "none"])).toMatchObject({ code: 3 });
    expect(await desk.command(["compare", "order-1", "order-9"])).toMatchObject({ code: 3 });
  });
});
