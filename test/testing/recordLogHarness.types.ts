// Compiled, never run: what a harness must have.
import type { OwnedLog, RecordLog } from "agent-persistence/storage";
import type { RecordLogHarness } from "agent-persistence/testing";

declare const log: RecordLog;

const members = {
  log,
  reopen: () => log,
  advance: () => {},
  silence: (owned: OwnedLog) => void owned,
  alter: async (agentId: string, position: number) => void [agentId, position],
  loseAnswer: () => {},
};
members satisfies RecordLogHarness;

const { silence: _silence, ...withoutSilence } = members;
// @ts-expect-error nothing is left out without a reason
withoutSilence satisfies RecordLogHarness;
({ ...withoutSilence, silence: { leftOut: "owners live as long as the process" } }) satisfies RecordLogHarness;
