import type { Deed } from "./Ledger.ts";
import type { AgentEnd } from "./Program.ts";

/** What is wrong with the outside world once every agent has ended. */
export function judge(deeds: readonly Deed[], ends: readonly AgentEnd[]): readonly string[] {
  return [...judgePayments(deeds), ...ends.flatMap((end) => judgeEnd(deeds, end))];
}

/** Nobody pays twice for one call, nor more often than somebody agreed. */
function judgePayments(deeds: readonly Deed[]): readonly string[] {
  const paid = deeds.filter(({ what }) => what === "pay");
  const ids = paid.map(({ id }) => id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `paid twice: ${id}`);
  const agents = [...new Set(paid.map(({ agentId }) => agentId))];
  const unasked = agents.filter((agent) => {
    const approved = deeds.filter(({ what, agentId }) => what === "approve" && agentId === agent).map(({ id }) => id);
    return paid.filter(({ agentId }) => agentId === agent).length > new Set(approved).size;
  });
  return [...twice, ...unasked.map((agent) => `paid without an approval: ${agent}`)];
}

/** An output counts on effects that stand. What another agent did for it before a fork may be undone since. */
function judgeEnd(
  deeds: readonly Deed[],
  { agentId, status, output = [], reverted = [] }: AgentEnd,
): readonly string[] {
  if (status === "wedged") return [`wedged: ${agentId}`];
  const own = deeds.filter((deed) => deed.agentId === agentId && deed.what !== "approve");
  const missing = output.filter((id) => {
    const elsewhere = deeds.some((deed) => deed.id === id && deed.agentId !== agentId);
    return !elsewhere && own.findLast((deed) => deed.id === id)?.what === undefined;
  });
  const isUndone = (id: string) => own.findLast((deed) => deed.id === id)?.what === "undo" && !reverted.includes(id);
  const undone = output.filter(isUndone);
  return [...missing.map((id) => `lost: ${id} of ${agentId}`), ...undone.map((id) => `undone: ${id} of ${agentId}`)];
}
