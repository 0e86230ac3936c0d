import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { z } from "zod";
import { persistence, RollbackToolRegistry, strategy, tool } from "agent-persistence";
import { FileRecordLog } from "agent-persistence/file";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { encodeControl } from "../../../src/storage/file/layout/Segment.ts";
import { durableAgent, Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { nextOwner, segmentPaths, testDirectory, TestMachine } from "../file/support/fixture.ts";

/** Stands for a value that `JSON.stringify` could not write. */
export const deepValue = "@deep@";

/** Makes records. @param version the next one. @param put stores a blob and returns its reference. */
export type Crafted = (
  version: number,
  put: (text: string) => Promise<string>,
) => readonly object[] | Promise<readonly object[]>;

/**
 * An agent that was stopped in its second node; records with right checksums are then put behind its own. Its tools accept
 * any input, may be repeated, and have inverses.
 */
export async function craftLog(records: Crafted) {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const fault = new Fault();
  const began: unknown[] = [];
  const [act, other] = ["act", "other"].map((name) =>
    tool({
      name,
      description: name,
      effect: "idempotent",
      inputSchema: z.any(),
      execute: (input) => void began.push([name, input]),
    }),
  ) as [ReturnType<typeof tool>, ReturnType<typeof tool>];
  const undo = (input: unknown) => void began.push(["undo", input]);
  const steps = strategy<string, string>("s", (graph) => {
    const first = graph.node("first", (input: string, context) => {
      context.llm.append({ role: "user", content: input });
      return input;
    });
    const second = graph.node("second", (input: string) => {
      fault.strike();
      return input;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  const log = () => new FileRecordLog({ directory, processIdentity: machine.start() });
  const agent = () =>
    durableAgent(steps, new LogPersistenceStorageProvider(log()), {
      tools: [act, other],
      registry: new RollbackToolRegistry().registerRollback(act, undo).registerRollback(other, undo),
    });
  await expect(agent().run("in", { runId: "r" })).rejects.toBeInstanceOf(Stopped);
  const checkpoints = await persistence(agent()).agent().getCheckpoints();
  const owned = await log().open("a", nextOwner());
  const put = (text: string) => log().blobs.put("a", owned.generation, Buffer.from(text));
  const made = await records((checkpoints.at(-1)?.version ?? 0) + 1, put);
  await owned.append({ id: "crafted", records: made as never }, owned.position);
  await owned.release();
  if (JSON.stringify(made).includes(deepValue)) await deepen(directory);
  fault.repair();
  const firstCheckpointId = checkpoints[0]?.checkpointId ?? "";
  return { directory, agent, log, began, firstCheckpointId, durable: () => persistence(agent()).agent() };
}

/** Puts the deep value into the last append of a closed log, with right checksums. */
async function deepen(directory: string): Promise<void> {
  const path = (await segmentPaths(directory, "a")).at(-1) ?? "";
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  const at = lines.findIndex((line) => line.includes(deepValue));
  const levels = 6_000;
  const line = (lines[at] ?? "").replace(JSON.stringify(deepValue), `${'{"d":'.repeat(levels)}1${"}".repeat(levels)}`);
  const body = line.slice(line.indexOf(",") + 1);
  const checksum = nodeSha256.base64url(body);
  const [, , position] = JSON.parse(lines[at] ?? "") as [string, string, number];
  const closed = encodeControl("closed", { position, checksum }, nodeSha256);
  await writeFile(path, [...lines.slice(0, at), `["${checksum}",${body}`, closed].join("\n"));
  await rm(join(path, "..", "..", "state.json"));
}
