import { readFileSync } from "node:fs";
import { join } from "node:path";
import { persistence, type PersistenceStorageProvider, tool } from "agent-persistence";
import { recoverTask } from "agent-persistence/task";
import { Workspace } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { Fault } from "../../persistence/support/durableAgent.ts";
import { bothEnded, everyLine } from "../../persistence/support/lineKinds.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { World } from "../../persistence/support/World.ts";
import { temporaryFolder, treeOf } from "../fixture.ts";
import { put } from "../Shell.ts";

const texts = (root: string) =>
  Object.fromEntries(Object.entries(treeOf(root)).map(([path, state]) => [path, state.replace("644 ", "")]));

describe.each(everyLine(logStorages.slice(0, 1)))("files of branches, %s", (_name, storage, kind) => {
  /** Two lines run a command each, one after the other; then the first line stops. Each command adds to a shared file. */
  async function stopped(
    order: readonly ("line" | "beside")[],
    onConflict: () => "abort" | "use_current" = () => "abort",
  ) {
    const root = temporaryFolder();
    put(root, { shared: "0" });
    const opened = await storage.open();
    const [world, fault] = [new World(), new Fault()];
    let turn = gate();
    const done: string[] = [];
    const mine = async (role: string) => {
      while (done.length < order.length && order[done.length] !== role) await turn.opened;
    };
    const process = (provider: PersistenceStorageProvider = opened()) => {
      const workspace = new Workspace({ root, onConflict });
      const run = tool({
        name: "run",
        description: "",
        inputSchema: z.object({ role: z.string() }),
        effect: "idempotent",
        execute: ({ role }, { context }) =>
          workspace.capture(context, () =>
            put(root, { [`${role}.txt`]: role, shared: `${readFileSync(join(root, "shared"), "utf8")} ${role}` }),
          ),
      });
      const act = async (role: string, tools: { call(of: typeof run, input: { role: string }): Promise<unknown> }) => {
        await mine(role);
        await tools.call(run, { role });
        done.push(role);
        turn.open();
        turn = gate();
        return role;
      };
      const build = kind.build(
        world,
        {
          line: async (role, { tools }) => {
            await act(role, tools);
            fault.strike();
            return role;
          },
          beside: (role, { tools }) => act(role, tools),
        },
        { tools: [run] },
      );
      const agent = build(provider, { participants: [workspace] });
      return { agent, outside: persistence(agent).agent("a") };
    };
    await expect(process().agent.run("go")).rejects.toThrow("stopped");
    fault.repair();
    const all = await process().outside.getCheckpoints();
    const target = all.find(({ nodeId, lastInput }) => nodeId.endsWith("act") && lastInput === "line");
    return { root, process, first: all[0]?.checkpointId ?? "", target: target?.checkpointId ?? "" };
  }

  it("a rollback of a branch reverts its changes and keeps those by others", async () => {
    const { root, process, target, first } = await stopped(["beside", "line"]);
    expect(texts(root)).toEqual({ "beside.txt": "beside", "line.txt": "line", shared: "0 beside line" });
    const { agent, outside } = process();
    await outside.rollbackToCheckpoint(target);
    expect(texts(root)).toEqual({ "beside.txt": "beside", shared: "0 beside" });
    expect(await agent.resume()).toMatchObject({ output: bothEnded });
    expect(texts(root)).toEqual({ "beside.txt": "beside", "line.txt": "line", shared: "0 beside line" });
    await process().outside.rollbackToCheckpoint(first);
    expect(texts(root)).toEqual({ shared: "0" });
  });

  it("a later change of another branch is a conflict and is not lost", async () => {
    const { root, process, target } = await stopped(["line", "beside"]);
    const before = texts(root);
    expect(before).toEqual({ "beside.txt": "beside", "line.txt": "line", shared: "0 line beside" });
    await expect(process().outside.rollbackToCheckpoint(target)).rejects.toMatchObject({ code: "file_conflict" });
    expect(texts(root)).toEqual(before);
    expect(await process().agent.resume()).toMatchObject({ output: bothEnded });
    expect(texts(root)).toEqual(before);
  });

  it.each([[["beside", "line"]], [["line", "beside"]]] as const)(
    "consecutive changes by %j do not count as external changes",
    async (order) => {
      const { root, process } = await stopped(order);
      const before = texts(root);
      expect(await process().outside.validateCheckpoint()).toMatchObject({
        valid: true,
        environmental: { filesUnchanged: { ok: true } },
      });
      expect(await recoverTask(process().agent, { agentId: "a" })).toMatchObject({ result: { output: bothEnded } });
      expect(texts(root)).toEqual(before);
    },
  );

  it("an external edit of a file that a finished branch changed is detected", async () => {
    const { root, process } = await stopped(["beside", "line"]);
    put(root, { "beside.txt": "mine" });
    expect(await process().outside.validateCheckpoint()).toMatchObject({
      environmental: { filesUnchanged: { ok: false } },
    });
    await expect(recoverTask(process().agent, { agentId: "a" })).rejects.toMatchObject({
      code: "environment_mismatch",
      mismatches: [{ kind: "file_modified_externally", path: join(root, "beside.txt") }],
    });
  });
});
