import type { AgentInspector } from "../../inspect.ts";
import type { Session } from "../session/Session.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import { painted } from "../terminal/painted.ts";

/** Warns on standard error if only the beginning of an agent's log is readable. Returns the exit reason for damage. */
export async function warnOfDamage(
  { output }: Session,
  view: AgentInspector,
  agentId: string,
): Promise<ExitReason | void> {
  const [damage] = (await view.agent(agentId))?.damage ?? [];
  if (damage === undefined) return;
  const { code, message } = damage;
  const warning = `This is only what is before the damage: ${message.replace(/\.$/, "")}. verify names all damage.`;
  if (output.json) await output.beside.item({ error: { code, message: warning } });
  else await output.beside.line(painted("yellow", `Warning: ${warning}`));
  return "damaged";
}
