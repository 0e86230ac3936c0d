import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Desk } from "./support/Desk.ts";
import { itemsOf } from "./support/TestTerminal.ts";

/** An agent of which no file says its id any more, as one whose folder may not be read. */
async function deskWithUnreadable(): Promise<Desk> {
  const desk = await Desk.open();
  await desk.waits("order-1");
  await desk.waits("order-2");
  const folder = join(desk.agents, "tasks");
  const name = (await readdir(folder)).find((each) => each.startsWith("order-2")) ?? "";
  await rm(join(folder, name, "state.json"), { force: true });
  await mkdir(join(folder, name, "state.json"));
  return desk;
}

describe("agents that cannot be read", () => {
  it("are damaged, whatever id they are listed with, and may ask something", async () => {
    await using desk = await deskWithUnreadable();
    const listed = itemsOf<{ status: string; agentId: string }>(await desk.command(["list", "--json"]));
    const unreadable = listed.find(({ status }) => status === "unreadable");
    expect(unreadable).toBeDefined();
    const verified = await desk.command(["verify", "--json"]);
    expect(verified.code).toBe(6);
    expect(itemsOf(verified)).toContainEqual(
      expect.objectContaining({ agentId: unreadable?.agentId, damage: [expect.anything()] }),
    );
    expect((await desk.command(["answer"])).err).toBe(
      `${unreadable?.agentId} cannot be read, and may ask something: verify says why.\n`,
    );
  });

  it.each([
    ["diff", "1-1"],
    ["rollback", "1-1", "--preview"],
    ["show", "1-1"],
  ])("%s says that the rest is damaged where it misses a checkpoint", async (name, ...rest) => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.damage("order-1", 0);
    const found = await desk.command([name, "order-1", ...rest, "--json"]);
    expect(found).toMatchObject({ code: 6, out: "" });
    expect(JSON.parse(found.err)).toMatchObject({ error: { code: "damaged" } });
  });
});
