import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { listSummaries, isAboutOneAgent, unreadable } from "../../storage/summaries.ts";
import { readHead } from "../../storage/readHead.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { draftMigration } from "./migrationRecords.ts";
import { type FittedLine, lineVerdicts } from "./lineVerdicts.ts";
import { planMigration } from "./planMigration.ts";

/** Whether the current code can continue an agent, and how. */
export interface MigrationCheck {
  readonly agentId: string;
  /**
   * `same`: no relevant code changed. `compatible`: all code that the agent can still run is unchanged. `migrates`:
   * migrations to the current code succeeded on copies. `incompatible`: a resume would reject. `unreadable`: the agent
   * cannot be read.
   */
  readonly verdict: "same" | "compatible" | "migrates" | "incompatible" | "unreadable";
  /** A text for each difference, or the reason why the agent cannot be migrated or read. */
  readonly differences: readonly string[];
}

const statuses = ["in_progress", "waiting", "paused", "failed", unreadable];

/** Checks the unfinished agents of a storage one by one. Takes no ownership and writes nothing. */
export async function* checkMigrations(
  setup: PersistenceSetup,
  isAsked: (summary: AgentSummary) => boolean,
  signal: AbortSignal,
): AsyncGenerator<MigrationCheck> {
  for await (const summary of listSummaries(setup.log, { status: statuses }))
    if (isAsked(summary)) yield { agentId: summary.agentId, ...(await checkOf(setup, summary, signal)) };
}

type Check = Pick<MigrationCheck, "verdict" | "differences">;

async function checkOf(
  setup: PersistenceSetup,
  { agentId, status, data }: AgentSummary,
  signal: AbortSignal,
): Promise<Check> {
  if (status === unreadable) {
    const { message } = data as { readonly message: unknown };
    return { verdict: "unreadable", differences: [String(message)] };
  }
  try {
    return await check(setup, agentId, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isAboutOneAgent(error)) return { verdict: "unreadable", differences: [reasonOf(error)] };
    if (!(error instanceof AgentPersistenceError)) throw error;
    return { verdict: "incompatible", differences: [reasonOf(error)] };
  }
}

async function check(setup: PersistenceSetup, agentId: string, signal: AbortSignal): Promise<Check> {
  using head = await readHead(setup.log, agentId, { keeps: false });
  const { log, state, lines: nested } = head;
  // If no node of a task has started, the task starts with the current code.
  if (!state || !log.index.lanes.has(state.lane)) return { verdict: "same", differences: [] };
  const sha256 = await setup.storage.sha256();
  const readAll = () => AgentLog.read(setup.log, agentId);
  const lines = await lineVerdicts(setup, { log, state, nested, sha256, readAll });
  const verdict = worst(lines);
  if (verdict === "migrates")
    return await tried(async () => {
      draftMigration(await planMigration(lines, log, signal), setup, { log, sha256 });
    }, signal);
  const found = lines.map((line) => line.verdict).filter(({ kind }) => kind === verdict);
  return { verdict, differences: found.flatMap((one) => ("differences" in one ? one.differences : [])) };
}

async function tried(migrate: () => Promise<void>, signal: AbortSignal): Promise<Check> {
  try {
    await migrate();
    return { verdict: "migrates", differences: [] };
  } catch (error) {
    signal.throwIfAborted();
    return { verdict: "incompatible", differences: [reasonOf(error)] };
  }
}

function worst(lines: readonly FittedLine[]): FittedLine["verdict"]["kind"] {
  const kinds = new Set(lines.map(({ verdict }) => verdict.kind));
  return (["incompatible", "migrates", "compatible"] as const).find((kind) => kinds.has(kind)) ?? "same";
}
