import { type EntryView, inspect } from "../../inspect.ts";
import type { ExitReason } from "../failure/CommandFailure.ts";
import { findLog } from "../ids/findLog.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortValue.ts";

/** What `log` takes. */
export interface LogCommandOptions extends CommonOptions {
  readonly after: number;
  readonly limit: number;
  readonly kind?: readonly string[] | undefined;
  readonly follow?: boolean | undefined;
}

/** `log <agent>`: its records, as they are stored. */
export async function log(session: Session, options: LogCommandOptions, given: string): Promise<ExitReason | void> {
  const storage = await session.storage();
  const agentId = await findLog(storage, given);
  const view = inspect(storage);
  let { after } = options;
  const limit = options.limit > 0 ? { limit: options.limit } : {};
  for await (const entry of view.records(agentId, { after, ...limit })) {
    await showEntry(session, entry, options.kind);
    after = entry.position;
  }
  if (!options.follow) return;
  for await (const entry of view.follow(agentId, { after, signal: session.io.stopSignal() }))
    await showEntry(session, entry, options.kind);
  return "stopped";
}

async function showEntry({ output, io }: Session, entry: EntryView, kinds?: readonly string[]): Promise<void> {
  const records = entry.records.filter(({ kind }) => !kinds || kinds.includes(kind));
  if (records.length === 0) return;
  if (output.json) return output.item({ ...entry, records });
  for (const { kind, ...fields } of records) {
    const begin = `${String(entry.position).padStart(6)}  ${kind.padEnd(14)}`;
    const left = (io.out.columns ?? Infinity) - begin.length - 30;
    await output.line(
      painted("dim", `${String(entry.position).padStart(6)}  `),
      painted("cyan", kind.padEnd(14)),
      ` ${shortValue(fields, Math.max(20, left))}`,
    );
  }
}
