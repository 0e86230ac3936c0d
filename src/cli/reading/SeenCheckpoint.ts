import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { AgentInspector, Problem } from "../../inspect.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";

/** A checkpoint of an agent that was seen outside of the storage. */
export interface SeenCheckpoint {
  readonly agentId: string;
  readonly version: number;
  /** The generation in its id. `undefined` if only the name is known. */
  readonly generation: number | undefined;
  /** The time of the sighting in ISO 8601. */
  readonly at: string | undefined;
}

const oneHead = /^(\d+-\d+)(?:@(.+))?$/;
const checkpointId = /^(\d+)-(\d+)$/;

const headLine = z.object({
  agentId: z.string(),
  checkpointId: z.string(),
  version: z.int().min(1).optional(),
  at: z.iso.datetime({ offset: true }).optional(),
});

/**
 * Returns the newest known head of each agent.
 *
 * @param since a checkpoint id if only one agent is given, or the path of a file with one line of JSON for each
 * checkpoint
 * @throws CommandFailure for any other text
 */
export async function readSeenCheckpoints(
  since: string,
  given: readonly string[],
): Promise<Map<string, SeenCheckpoint>> {
  const [, id, at] = oneHead.exec(since) ?? [];
  if (id === undefined) return newestOf((await linesOf(since)).map((line) => headOf(line, since)));
  const [agentId] = given;
  if (agentId === undefined || given.length > 1)
    throw new CommandFailure("usage", `--since ${since} is a checkpoint of one agent. Name one agent, or pass a file.`);
  return newestOf([headOf(JSON.stringify({ agentId, checkpointId: id, at }), "--since")]);
}

/** Returns the problem if a log lacks a known head, or `undefined`. */
export async function missingCheckpoint(view: AgentInspector, head: SeenCheckpoint): Promise<Problem | undefined> {
  const { checkpoints } = await view.checkpoints(head.agentId, { after: head.version - 1, limit: 1 });
  const [found] = checkpoints;
  if (found === undefined) return older(head, "the log ends before it");
  const { version, generation, checkpointId: id, at } = found;
  // A pruned checkpoint is missing as well. Later checkpoints then have its generation or a later one.
  const isOther = version === head.version ? generation !== head.generation : generation < (head.generation ?? 0);
  if (head.generation !== undefined && isOther) return older(head, `the log has ${id} in its place`);
  if (version === head.version && head.at !== undefined && Date.parse(at) > Date.parse(head.at))
    return older(head, `the log has another ${id}, of ${at}, which was made after ${head.at}`);
  return undefined;
}

function older({ generation, version }: SeenCheckpoint, found: string): Problem {
  const id = generation === undefined ? `of version ${version}` : `${generation}-${version}`;
  const message = `checkpoint ${id} was seen, but ${found}. The storage may have been restored to an older state.`;
  return { code: "older_state", message };
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    const message = `--since is neither a checkpoint id, such as 2-7, nor a file that can be read: ${error.message}`;
    throw new CommandFailure("usage", message, { cause: error });
  });
  return text.split("\n").filter((line) => line.trim() !== "");
}

function headOf(line: string, from: string): SeenCheckpoint {
  const { agentId, checkpointId: id, version, at } = parsed(line, from);
  const [, generation, last] = checkpointId.exec(id) ?? [];
  const known = version ?? (last === undefined ? undefined : Number(last));
  if (known === undefined) throw unusable(line, from, "a checkpoint with a name needs its version");
  return { agentId, version: known, generation: generation === undefined ? undefined : Number(generation), at };
}

function parsed(line: string, from: string): z.infer<typeof headLine> {
  try {
    return headLine.parse(JSON.parse(line));
  } catch (error) {
    throw unusable(line, from, 'expected {"agentId", "checkpointId"}, and "version" and "at" if known', error);
  }
}

function unusable(line: string, from: string, why: string, cause?: unknown): CommandFailure {
  return new CommandFailure("usage", `${from} has an unusable line, ${line.slice(0, 80)}: ${why}.`, { cause });
}

function newestOf(heads: readonly SeenCheckpoint[]): Map<string, SeenCheckpoint> {
  const newest = new Map<string, SeenCheckpoint>();
  for (const head of heads)
    if (head.version >= (newest.get(head.agentId)?.version ?? 0)) newest.set(head.agentId, head);
  return newest;
}
