import { highestReceivedGeneration } from "../../../src/checkpoint/format/ReceivedAppends.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import type { BrokenLog } from "./brokenLogs.ts";
import { appendingWhatItReceives, changed, filtered, moving } from "../conformance/alteredLogs.ts";

const linkOfFirst = /^(?:\{"snapshot":)?\["[^"]*","[^"]*",([0-9]+),/;
const positionOf = (line: Uint8Array): number => Number(linkOfFirst.exec(Buffer.from(line).toString())?.[1]);

/** Mistakes that people make when a log gives its lines, and takes those of another. */
export const brokenReceivers: readonly BrokenLog[] = [
  {
    mistake: "gives lines up to a position without it",
    caughtBy: "returns the lines of a log up to a position, and another log stores them unchanged",
    make: () =>
      moving((log) => ({
        encodedAppends: (agentId, { upTo = Infinity } = {}) =>
          filtered(log.encodedAppends(agentId), (line) => positionOf(line) < upTo || upTo === Infinity),
      })),
  },
  {
    mistake: "writes what it takes as appends of its own",
    caughtBy: "returns the lines of a log up to a position, and another log stores them unchanged",
    make: () => moving(appendingWhatItReceives),
  },
  {
    mistake: "forgets the append after the lines in its list",
    caughtBy: "returns the lines of a log up to a position, and another log stores them unchanged",
    make: () =>
      moving((log) => ({
        receive: (agentId, owner, received, last) =>
          log.receive(agentId, owner, received, async (end) => {
            const { summary: _summary, ...append } = await last(end);
            return append;
          }),
      })),
  },
  {
    mistake: "takes a generation that lines have already",
    caughtBy: "requests the append after the lines with the right generation and position",
    make: () =>
      moving((log) => ({
        receive: (agentId, owner, { appends: lines }, last) =>
          log.receive(agentId, owner, { appends: lines, generation: 2 }, last),
      })),
  },
  {
    mistake: "gives lines that are pruned",
    caughtBy: "omits pruned lines, and receives the other lines with the pruning record",
    make: () => {
      const first = new Map<string, Uint8Array[]>();
      return moving((log) => ({
        async *encodedAppends(agentId, options) {
          const seen = first.get(agentId) ?? [];
          for await (const line of log.encodedAppends(agentId, options))
            if (!seen.some((other) => positionOf(other) === positionOf(line))) seen.push(line);
          first.set(agentId, seen);
          yield* seen.toSorted((a, b) => positionOf(a) - positionOf(b));
        },
        async *read(agentId, options) {
          await collect(this.encodedAppends?.(agentId) ?? log.encodedAppends(agentId));
          yield* log.read(agentId, options);
        },
      }));
    },
  },
  {
    mistake: "takes lines for an agent that is there",
    caughtBy: "receives no lines for an agent that has entries",
    make: () =>
      moving((log) => ({
        receive: async (agentId, owner, received, last) => {
          const owned = await log.open(agentId, owner);
          await owned.drop();
          return log.receive(agentId, owner, received, last);
        },
      })),
  },
  {
    mistake: "takes what is not whole",
    caughtBy: "rejects damaged, unordered or incomplete lines without storing any",
    make: () =>
      moving((log) => ({
        receive: async (agentId, owner, { appends: lines, generation }, last) => {
          const given = await collect(
            (async function* () {
              yield* lines;
            })(),
          );
          const whole = given.filter(
            (line, at) => at === 0 || positionOf(line) === positionOf(given[at - 1] ?? line) + 1,
          );
          return log.receive(agentId, owner, { appends: whole, generation }, last);
        },
      })),
  },
  {
    mistake: "takes any generation",
    caughtBy: "rejects damaged, unordered or incomplete lines without storing any",
    make: () =>
      moving((log) => ({
        receive: (agentId, owner, { appends: lines, generation }, last) =>
          log.receive(
            agentId,
            owner,
            { appends: lines, generation: Math.max(2, Math.min(generation, highestReceivedGeneration)) },
            last,
          ),
      })),
  },
  {
    mistake: "has an agent while its lines come",
    caughtBy: "shows no entries of an agent until all of its lines are received",
    make: () => moving(appendingWhatItReceives),
  },
  {
    mistake: "takes no lines where an agent was deleted",
    caughtBy: "receives lines for the id of a removed agent",
    make: () => {
      const seen = new Set<string>();
      return moving((log) => ({
        open: async (agentId, owner) => {
          seen.add(agentId);
          return log.open(agentId, owner);
        },
        receive: async (agentId, owner, received, last) => {
          if (seen.has(agentId)) throw Object.assign(new Error("seen"), { code: "agent_exists" });
          return log.receive(agentId, owner, received, last);
        },
      }));
    },
  },
  {
    mistake: "says that it copied a blob, and did not",
    caughtBy: "copies a blob to another agent under the same reference",
    make: () =>
      changed(({ blobs }) => ({
        blobs: {
          put: blobs.put.bind(blobs),
          get: (agentId, reference) => blobs.get(agentId, reference),
          delete: blobs.delete.bind(blobs),
          copy: async () => true,
        },
      })),
  },
];
