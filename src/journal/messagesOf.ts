import type { Message } from "../checkpoint/messages/Message.ts";
import type { AgentState } from "../checkpoint/state/AgentState.ts";
import type { AgentLog } from "../storage/AgentLog.ts";

export function messagesOf(log: AgentLog, state: AgentState): readonly Message[] {
  const reader = log.reader(state);
  return state.history.map(({ message }) => reader.message(message));
}
