import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { SimulatedCrashError, SimulatedFileSystem } from "agent-persistence/testing";
import { seededNumbers } from "../../../../src/testing/powerLoss/RecordedTree.ts";
import { Machine } from "../../../powerloss/Machine.ts";
import { HastyClock } from "../../../storage/file/support/TestClock.ts";
import type { Device } from "./liveLines.ts";

/** About so many calls to the file system make a save. */
const callsOfSave = 3;

/** Files of a machine that loses power in the middle of a process: what was not synced may be lost, in any part. */
export function losingPower(seed: number): Device {
  const random = seededNumbers(seed);
  let fileSystem = new SimulatedFileSystem();
  let machine = new Machine();
  const clock = new HastyClock();
  const storageOn = (files: SimulatedFileSystem) => {
    const { options } = machine.start(files);
    // Of an owner whose claim was lost its silence tells, and each storage sees what those before it saw.
    const processIdentity = { ...options.processIdentity, sinceBootMs: () => clock.monotonic() };
    return new FilePersistenceStorageProvider({ ...options, processIdentity, clock });
  };
  return {
    opened: () => storageOn(fileSystem),
    ending(saves) {
      const calls = saves * callsOfSave + Math.floor(random() * callsOfSave);
      let left = calls;
      return storageOn(
        endingAfter(fileSystem, () => {
          if (left-- <= 0) throw new SimulatedCrashError(calls);
        }),
      );
    },
    pass: (ms) => clock.advance(ms),
    ended() {
      const sampled = { samples: 2, seed: Math.floor(random() * 2 ** 31) };
      const states = [...fileSystem.crashStates(fileSystem.position, sampled)];
      const state = states[Math.floor(random() * states.length)];
      if (!state) return;
      fileSystem = state.restart();
      machine.endAll();
      if (state.model !== "kill") machine = new Machine();
    },
  };
}

/** The same object, each of whose calls, and of those of the files that it creates, is counted first. */
function endingAfter<Target extends object>(target: Target, count: () => void): Target {
  const get = (_target: Target, key: string | symbol): unknown => {
    const member: unknown = Reflect.get(target, key);
    if (typeof member !== "function") return member;
    return async (...given: readonly unknown[]) => {
      count();
      const result: unknown = await Reflect.apply(member, target, given);
      return key === "create" ? endingAfter(result as object, count) : result;
    };
  };
  return new Proxy(target, { get });
}
