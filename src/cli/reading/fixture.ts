import { resolve } from "node:path";
import { quotedList } from "../../errors/AgentPersistenceError.ts";
import { createFixture } from "../../replay.ts";
import type { HiddenValues } from "../../timeline.ts";
import { findAgent } from "../ids/findLog.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { writeOver } from "../storage/commandFiles.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { painted } from "../terminal/painted.ts";
import { bytesText } from "../terminal/shortTexts.ts";

export interface FixtureCommandOptions extends CommonOptions {
  readonly run?: string | undefined;
  readonly out?: string | undefined;
  readonly redact?: readonly string[] | undefined;
  readonly showSecrets?: boolean | undefined;
}

/** `fixture <agent>`: writes a run to a file for tests. */
export async function fixture(session: Session, options: FixtureCommandOptions, given: string): Promise<void> {
  const { output, io } = session;
  const { run, out, redact, showSecrets = false } = options;
  if (out === undefined) throw new CommandFailure("usage", "Name the file to write: --out <file>");
  const storage = await session.storage();
  const agentId = await findAgent(storage, given);
  let hidden: HiddenValues | undefined;
  const shown = {
    redact,
    secrets: showSecrets ? "show" : "hide",
    onHidden: (found: HiddenValues) => (hidden = found),
  } as const;
  const created = await createFixture(storage, { agentId, runId: run, ...shown });
  const text = `${JSON.stringify(created)}\n`;
  const bytes = Buffer.byteLength(text);
  const file = resolve(io.cwd, out);
  await writeOver(file, [text]);
  const { runId } = created;
  const document = { agentId, runId, file, bytes, hidden };
  await output.result(document, "Wrote a run of ", painted("bold", agentId), ` to ${file} (${bytesText(bytes)}).`);
  if (hidden && hidden.idle.length > 0) await output.note(`The paths ${quotedList(hidden.idle)} matched no value.`);
}
