import { reencrypt } from "../../encryption.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import type { Session, WritingOptions } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";
import { counted } from "../terminal/shortTexts.ts";

export async function reencryptCommand(session: Session, options: WritingOptions): Promise<ExitReason | void> {
  const { output } = session;
  if (options.keys === undefined)
    throw new CommandFailure("usage", "Name the keys of the storage: --keys ./keys.js#<export>");
  const storage = await session.storage("keys");
  await session.confirm(["The data keys of all agents will be encrypted with the current key."]);
  let changed = 0;
  const failed: { readonly agentId: string; readonly error: string }[] = [];
  for await (const result of reencrypt(storage)) {
    if (result.changed) changed++;
    if (result.error) failed.push({ agentId: result.agentId, error: result.error.message });
  }
  if (output.json) await output.document({ changed, failed });
  else {
    for (const { agentId, error } of failed) await output.line(painted("red", agentId), ` ${error}`);
    await output.line(`Encrypted ${counted(changed, "data key")} again.`);
  }
  return failed.length > 0 ? "failed" : undefined;
}
