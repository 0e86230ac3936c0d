import { type ToolEffect, tool } from "agent-persistence";
import { LogPersistenceStorageProvider, type LogAppend } from "agent-persistence/storage";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { filesBelow, testDirectory } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

const argument = (at: number) => `argument-${at}-canary`;
const result = (at: number) => `result-${at}-canary`;

/** A storage that tells what is appended, when that is durable. */
function watched(storage: LogPersistenceStorageProvider): {
  readonly provider: LogPersistenceStorageProvider;
  readonly appends: readonly LogAppend[];
} {
  const appends: LogAppend[] = [];
  const log = delegatingLog(storage.log, {}, (owned) => ({
    async append(entry, expectedPosition) {
      const position = await owned.append(entry, expectedPosition);
      appends.push(entry);
      return position;
    },
  }));
  return { provider: new LogPersistenceStorageProvider(log), appends };
}

/** How the calls of one turn end: all in one turn of the event loop, or each when the one before is recorded. */
type Ending = "together" | "one after the other";

const outcomesIn = (appends: readonly LogAppend[]) =>
  appends.flatMap(({ records }) => records).filter(({ kind }) => kind === "outcome").length;

/** One turn of the default loop with some calls, and the appends that it made until the next request of the model. */
async function turnOf(storage: LogPersistenceStorageProvider, calls: number, ending: Ending, effect: ToolEffect) {
  const { provider, appends } = watched(storage);
  const atStart: number[] = [];
  let release = () => {};
  const allRun = new Promise<void>((resolve) => {
    release = resolve;
  });
  const act = tool({
    name: "act",
    description: "",
    inputSchema: z.object({ at: z.number(), text: z.string() }),
    effect,
    execute: async ({ at }) => {
      atStart.push(appends.length);
      if (atStart.length === calls) release();
      await allRun;
      if (ending === "one after the other")
        await expect.poll(() => outcomesIn(appends), { interval: 1, timeout: 600_000 }).toBe(at);
      return { text: result(at) };
    },
  });
  const toolCalls = Array.from({ length: calls }, (_, at) => ({
    toolName: "act",
    input: { at, text: argument(at) },
  }));
  const asked: number[] = [];
  const turns = [{ toolCalls }, "done"].map((answer) => () => {
    asked.push(appends.length);
    return answer;
  });
  await durableAgent(defaultLoop, provider, { tools: [act], turns }).run("go");
  const [first = 0, second = 0] = asked;
  return { inTurn: second - first, beforeCalls: atStart.map((count) => count - first) };
}

const endings: readonly Ending[] = ["together", "one after the other"];
const table = [1, 2, 8].flatMap((calls) => endings.map((ending) => ({ calls, ending })));

describe.each(logStorages)("$name: a turn of the default loop", (storage) => {
  it.each(table)("with $calls calls that end $ending costs at most two appends more", async ({ calls, ending }) => {
    const { inTurn, beforeCalls } = await turnOf((await storage.open())(), calls, ending, "reversible");
    expect(inTurn).toBe(ending === "together" ? 3 : calls + 2);
    // The answer with its checkpoint, and the intents of all.
    expect(beforeCalls).toEqual(Array.from({ length: calls }, () => 2));
  });

  it.each([1, 2, 8])("with %i calls declared none appends nothing for them before they run", async (calls) => {
    const { inTurn, beforeCalls } = await turnOf((await storage.open())(), calls, "together", "none");
    expect(beforeCalls).toEqual(Array.from({ length: calls }, () => 1));
    expect(inTurn).toBe(2);
  });
});

describe("the files of a turn of the default loop", () => {
  it.each(table)("with $calls calls that end $ending hold each argument and result once", async (turn) => {
    const directory = await testDirectory();
    const storage = new FilePersistenceStorageProvider({ directory });
    await turnOf(storage, turn.calls, turn.ending, "reversible");
    const stored = [...(await filesBelow(directory)).values()].join("\n");
    for (let at = 0; at < turn.calls; at++) {
      expect(stored.split(argument(at))).toHaveLength(2);
      expect(stored.split(result(at))).toHaveLength(2);
    }
  });
});
