import { resolve } from "node:path";
import { inspect } from "../../inspect.ts";
import { type HiddenValues, serveTimeline, timelinePage } from "../../timeline.ts";
import { quotedList } from "../../errors/AgentPersistenceError.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import { findAgent } from "../ids/findLog.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { writeOver } from "../storage/commandFiles.ts";
import { pricesIn, warnOfDamage } from "./shown.ts";
import { painted } from "../terminal/painted.ts";

export interface UiCommandOptions extends CommonOptions {
  readonly out?: string | undefined;
  readonly redact?: readonly string[] | undefined;
  readonly showSecrets?: boolean | undefined;
  readonly last: number;
  /** A JSON file with `TokenPrices`. */
  readonly prices?: string | undefined;
  readonly port: number;
}

/** `ui [agent]`: writes the timeline of an agent to a file, or serves all timelines until it is stopped. */
export async function ui(session: Session, options: UiCommandOptions, given?: string): Promise<ExitReason | void> {
  const storage = await session.storage();
  const agentId = given === undefined ? undefined : await findAgent(storage, given);
  const inspector = inspect(storage);
  const { out, redact, showSecrets = false, last, port } = options;
  const prices = await pricesIn(session.io, options.prices);
  const shown = { redact, prices, secrets: showSecrets ? "show" : "hide", ...(last > 0 && { last }) } as const;
  if (out !== undefined) {
    const id = agentOfPage(agentId);
    await writePage(session, id, (onHidden) => timelinePage(inspector, id, { ...shown, onHidden }), out);
    return warnOfDamage(session, inspector, id);
  }
  const server = await serveTimeline(inspector, { ...shown, port });
  try {
    await serve(session, agentId === undefined ? server.url : server.urlOf(agentId));
    return "stopped";
  } finally {
    await server.close();
  }
}

/** @throws CommandFailure without an agent */
function agentOfPage(agentId: string | undefined): string {
  if (agentId !== undefined) return agentId;
  throw new CommandFailure(
    "usage",
    "Name the agent of the page: ui <agent> --out <file>. Put the agent before --redact.",
  );
}

async function writePage(
  { output, io }: Session,
  agentId: string,
  pageOf: (onHidden: (hidden: HiddenValues) => void) => AsyncIterable<string>,
  out: string,
): Promise<void> {
  const file = resolve(io.cwd, out);
  let hidden: HiddenValues | undefined;
  await writeOver(
    file,
    pageOf((found) => (hidden = found)),
    io.stopSignal(),
  );
  const document = { agentId, file, hidden };
  await output.result(document, "Wrote the timeline of ", painted("bold", agentId), ` to ${file}`);
  if (hidden && hidden.idle.length > 0) await output.note(`The paths ${quotedList(hidden.idle)} matched no value.`);
}

async function serve({ output, io }: Session, url: string): Promise<void> {
  const stop = io.stopSignal();
  await output.result({ url }, url);
  await output.note("To stop the server, press Ctrl-C. Everybody with the address can read all agents of the storage.");
  if (!stop.aborted) await new Promise((resolved) => stop.addEventListener("abort", resolved, { once: true }));
}
