import type { BranchResult } from "../../agent/feature/BranchResult.ts";
import type { RecordedRequirements, RunSettings } from "../../agent/state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { StoredMessage } from "../../checkpoint/messages/storedHistory.ts";
import type { BranchChanges as StoredBranch } from "../../checkpoint/state/BranchChanges.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { requirementsOf, settingsOf } from "./restoredState.ts";

export function storedResult(
  log: AgentLog,
  branch: StoredBranch,
  fork: { readonly settings: RunSettings; readonly requirements: RecordedRequirements },
): BranchResult | undefined {
  if (!branch.checkpoint?.record.ended) return undefined;
  const { settings, requirements, history, decisions } = branch;
  const read = ({ number, message }: StoredMessage): NumberedMessage => ({
    number,
    message: log.readValue(message) as Message,
  });
  return {
    output: log.readValue(branch.output),
    added: branch.messages.map(read),
    ...(history && { history: history.map(read) }),
    storage: new Map(
      [...branch.storage].map(([key, change]) => [key, change && { value: log.readValue(change.value) }]),
    ),
    settings: settings ? settingsOf(settings, (slot) => log.readValue(slot)) : fork.settings,
    decisions: decisions.map(({ decision, reason }) => withoutUndefined({ decision, reason })),
    requirements: requirements ? requirementsOf(requirements) : fork.requirements,
    iterations: branch.iterations,
  };
}
