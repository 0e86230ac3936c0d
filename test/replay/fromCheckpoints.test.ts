import fc from "fast-check";
import { persistence } from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { expect, it } from "vitest";
import { crashing, liveLines } from "../persistence/lines/support/liveLines.ts";
import { linesAgent } from "../persistence/lines/support/linesAgent.ts";
import { type LineAct, type LineBody, linesOf, type RandomLines } from "../persistence/lines/support/randomLines.ts";
import { memory } from "../persistence/support/storages.ts";
import { cases } from "../soak/cases.ts";

/** Without moves, because a counterfactual replay stops at them. */
const still = (lines: RandomLines): boolean => !/"(again|back)"/.test(JSON.stringify(lines));

const leaf = (...acts: readonly LineAct[]): LineBody[number] => ({ kind: "leaf", acts });
const fork: LineBody[number] = {
  kind: "parallel",
  branches: [[leaf()]],
  history: "fork",
  onFailure: "finish",
  messages: "append",
  merge: [],
};
const withAgent = (body: LineBody, agent: LineBody): RandomLines => ({
  body,
  agents: [agent],
  automatic: false,
  agentsAutomatic: false,
  triggers: false,
  moods: [false],
  settledBy: "outside",
  moves: 0,
  processes: [{ saves: 2 }],
  answers: ["later"],
});
const consult: LineAct = { kind: "consult", agents: [0] };
/** An agent that runs while its caller has no checkpoint, one that has ended, and one whose approval expired. */
const found: [RandomLines, number][] = [
  [withAgent([leaf(consult), fork], [leaf()]), 0],
  [withAgent([leaf(consult), fork], [leaf({ kind: "approve" }), leaf()]), 637],
  [withAgent([{ kind: "subgraph", body: [leaf({ kind: "model" }), leaf()] }], [leaf({ kind: "approve" }), leaf()]), 0],
];

it.each([
  { depth: 1, numRuns: cases(8, 300) },
  { depth: 2, numRuns: cases(4, 100) },
])(
  "a replay of equal code from a checkpoint of any line, $depth deep, has the recorded output",
  async ({ depth, numRuns }) => {
    await fc.assert(
      fc.asyncProperty(linesOf(depth).filter(still), fc.nat(), async (lines, pick) => {
        const opened = await memory.open();
        const processes = lines.processes.map(({ saves }) => ({ saves }));
        const world = await liveLines({ ...lines, processes }, crashing(opened));
        const agent = linesAgent(world, opened());
        const checkpoints = await persistence(agent).agent("a").getCheckpoints();
        const nested = checkpoints.filter(({ branch, agentPath }) => branch !== undefined || agentPath.length > 0);
        const among = nested.length > 0 ? nested : checkpoints;
        const from = among[pick % among.length]?.checkpointId;
        const replayed = await replayRun(agent, { storage: opened(), agentId: "a", from });
        expect(replayed).toMatchObject({ status: "completed", matches: true });
      }),
      { numRuns, examples: found },
    );
  },
);
