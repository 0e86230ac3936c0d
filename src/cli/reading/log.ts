import { recordKinds } from "../../checkpoint/format/validateRecord.ts";
import { type AgentInspector, type EntryView, inspect } from "../../inspect.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import { findLog } from "../ids/findLog.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortTexts.ts";

export interface LogCommandOptions extends CommonOptions {
  readonly after: number;
  readonly limit: number;
  readonly kind?: readonly string[] | undefined;
  readonly follow?: boolean | undefined;
}

/** `log <agent>`: prints the stored records. */
export async function log(session: Session, options: LogCommandOptions, given: string): Promise<ExitReason | void> {
  if (options.follow && options.limit > 0)
    throw new CommandFailure("usage", "--follow shows every record: omit --limit, or start later with --after");
  const storage = await session.storage();
  const agentId = await findLog(storage, given);
  const view = inspect(storage);
  let { after } = options;
  let left = options.limit > 0 ? options.limit : Infinity;
  await assertKinds(view, agentId, options.kind);
  for await (const entry of view.records(agentId, { after })) {
    left -= await showEntry(session, entry, options.kind);
    after = entry.position;
    if (left <= 0) break;
  }
  if (!options.follow) return;
  for await (const entry of view.follow(agentId, { after, signal: session.io.stopSignal() }))
    await showEntry(session, entry, options.kind);
  return "stopped";
}

/** Rejects record kinds that no log of an agent contains. Accepts all kinds for a log without an agent. */
async function assertKinds(view: AgentInspector, agentId: string, kinds: readonly string[] = []): Promise<void> {
  const wrong = kinds.find((kind) => !recordKinds().includes(kind));
  if (wrong === undefined || (await view.agent(agentId))?.shape !== "agent") return;
  throw new CommandFailure("usage", `"${wrong}" is not a kind of record. Expected ${recordKinds().join(", ")}`);
}

/** Prints the matching records of an append. Returns the number of printed records. */
async function showEntry({ output, io }: Session, entry: EntryView, kinds?: readonly string[]): Promise<number> {
  const records = entry.records.filter(({ kind }) => !kinds || kinds.includes(kind));
  if (records.length === 0 && kinds) return 0;
  if (output.json) {
    await output.item({ ...entry, records });
    return records.length;
  }
  for (const { kind, ...fields } of records) {
    const [position, name] = [`${String(entry.position).padStart(6)}  `, kind.padEnd(14)];
    const left = (io.out.columns ?? Infinity) - position.length - name.length - 30;
    const content = shortValue(fields, Math.max(20, left));
    await output.line(painted("dim", position), painted("cyan", name), ` ${content}`);
  }
  return records.length;
}
