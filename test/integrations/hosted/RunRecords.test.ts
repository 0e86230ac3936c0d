import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { RunRecords } from "../../../src/integrations/hosted/RunRecords.ts";
import type { RecordLog } from "../../../src/storage/RecordLog.ts";
import { calling, scriptedModel, text } from "../ai-sdk-agents/support/scriptedModel.ts";
import { sdks } from "../ai-sdk-agents/support/sdks.ts";

const [sdk] = sdks;

/** A desk whose runs find something large, and wait for an approval before they pay. */
function desk(storage: InMemoryPersistenceStorageProvider) {
  const { tool, ToolLoopAgent } = sdk!.ai;
  const inputSchema = z.object({ id: z.string() });
  const find = tool({ inputSchema, execute: ({ id }) => id.padEnd(12_000) });
  const pay = tool({ inputSchema, needsApproval: true, execute: ({ id }) => `paid ${id}` });
  const model = scriptedModel([[calling("find", { id: "7" })], [calling("pay", { id: "8" })], text("Done.")], sdk!);
  return durableAgent(
    { storage },
    (durable) =>
      new ToolLoopAgent({
        model: durable.model(model),
        tools: durable.tools({ find, pay }, { find: { effect: "none" }, pay: { rollback: () => undefined } }),
      }),
  );
}

async function records(log: RecordLog): Promise<RunRecords> {
  const found = new RunRecords(log, "a");
  await found.read();
  return found;
}

/** A log that is always read from its start. */
function withoutSnapshots(log: RecordLog): RecordLog {
  const read: RecordLog["read"] = (id, { sinceSnapshot: _recent, ...options } = {}) => log.read(id, options);
  return Object.assign(Object.create(log) as RecordLog, { read });
}

function viewOf(run: RunRecords): object {
  const { runId, status, input, error, visit, lines, calls } = run;
  const answers = [0, 1, 2].map((ordinal) => {
    const answer = run.answer(ordinal);
    return answer && run.readValue(answer.message);
  });
  const ends = calls.map(({ toolCallId }) => {
    const output = run.outcome([toolCallId])?.output;
    const { record, reply } = run.request(toolCallId) ?? {};
    return [output === undefined ? undefined : run.readValue(output), record?.request, reply?.answer];
  });
  return { runId, status, input, error, visit, lines, calls, answers, ends };
}

describe("the records of a run", () => {
  it("are the same from a snapshot as from the start of the log, also after rollbacks", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agents = desk(storage);
    const follower = await records(storage.log);
    const checkRecords = async () => {
      const expected = viewOf(await records(withoutSnapshots(storage.log)));
      expect(viewOf(await records(storage.log))).toEqual(expected);
      await follower.read();
      expect(viewOf(follower)).toEqual(expected);
    };
    for (let run = 0; run < 12; run++) {
      await agents.for("a").generate({ prompt: `Pay for order ${run}.` });
      await checkRecords();
      const [request] = await agents.agent("a").getRequests();
      await agents.agent("a").answer(request!.requestId, { approved: true });
      await checkRecords();
      await agents.for("a").resume();
      await checkRecords();
    }
    const checkpoints = await agents.agent("a").getCheckpoints();
    for (const at of [-2, 2, 1]) {
      await agents.agent("a").rollbackToCheckpoint(checkpoints.at(at)!.checkpointId);
      await checkRecords();
      await agents.for("a").resume();
      await checkRecords();
    }
  });

  it("are read from the newest snapshot if the run is newer", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agents = desk(storage);
    for (let run = 0; run < 20; run++) {
      await agents.for("a").generate({ prompt: `Pay for order ${run}.` });
      await agents.agent("a").cancel();
    }
    await agents.for("a").generate({ prompt: "Pay for the last order." });
    const log = new CountedReads(storage.log);
    await records(log.log);
    const recent = log.entries;
    await records(withoutSnapshots(log.log));
    expect(recent).toBeLessThan((log.entries - recent) / 2);
  });
});

class CountedReads {
  entries = 0;
  readonly log: RecordLog;

  constructor(counted: RecordLog) {
    const read: RecordLog["read"] = (...given) => this.#count(counted.read(...given));
    this.log = Object.assign(Object.create(counted) as RecordLog, { read });
  }

  async *#count<Entry>(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
    for await (const entry of entries) {
      this.entries++;
      yield entry;
    }
  }
}
