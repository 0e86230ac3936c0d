import type { AgentCheckpointData } from "agent-persistence";
import { z } from "zod";
import type { AuditEntry, DatabaseState } from "./Audit.ts";
import type { JournalState } from "./readJournal.ts";

/**
 * What must not be after a kill: a row that the journal does not know, one that it says is there and is not, and anything
 * done twice. Only of what was under way when the process ended may either be true.
 */
export function judgeImport({ users, audit }: DatabaseState, { standing, unknown }: JournalState): readonly string[] {
  const rows = users.map((user) => user.tool_call_id);
  return [
    ...rows
      .filter((id) => !standing.has(id) && !unknown.has(id))
      .map((id) => `a row of call ${id}, which does not stand`),
    ...[...standing]
      .filter((id) => !rows.includes(id) && !unknown.has(id))
      .map((id) => `no row of call ${id}, which stands`),
    ...twice(audit),
  ];
}

/** What must not be when a process has come to its end: besides, anything unknown, and messages that say something else. */
export function judgeAtRest(database: DatabaseState, journal: JournalState): readonly string[] {
  const rows = database.users.map(({ id }) => id);
  const told = toldIds(journal.line.at(-1));
  return [
    ...judgeImport(database, journal),
    ...[...journal.unknown].map((id) => `nobody knows how call ${id} ended`),
    ...(sorted(rows) === sorted(told)
      ? []
      : [`the messages tell of the users ${sorted(told)}, the table has ${sorted(rows)}`]),
  ];
}

/** A call adds its row once, and its inverse removes it once. */
function twice(audit: readonly AuditEntry[]): readonly string[] {
  const done = audit.map(({ kind, tool_call_id }) => `${kind} by call ${tool_call_id}`);
  return done.filter((entry, at) => done.indexOf(entry) !== at).map((entry) => `twice ${entry}`);
}

const SignedUp = z.object({ toolName: z.literal("signUp"), output: z.object({ id: z.int() }) });

const ToolMessage = z.object({ role: z.literal("tool"), content: z.array(z.unknown()) });

/** The ids of the users that the model was told of, or is about to be: results come to it as the input of its node. */
function toldIds(head: AgentCheckpointData | undefined): readonly number[] {
  return [...(head?.messageHistory ?? []), head?.lastInput]
    .flatMap((message) => ToolMessage.safeParse(message).data?.content ?? [])
    .flatMap((part) => SignedUp.safeParse(part).data?.output.id ?? []);
}

function sorted(ids: readonly number[]): string {
  return ids.toSorted((a, b) => a - b).join();
}
