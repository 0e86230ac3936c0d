import fc from "fast-check";

/** One thing a node of a random strategy does. */
export type LineAct =
  | {
      readonly kind:
        | "approve"
        | "ask"
        | "askTwo"
        | "book"
        | "bulk"
        | "count"
        | "fail"
        | "foresee"
        | "forget"
        | "model"
        | "name"
        | "note"
        | "pair"
        | "pause"
        | "rewrite"
        | "save"
        | "say"
        | "ship"
        | "write";
    }
  /** Calls agents, all at once. */
  | { readonly kind: "consult"; readonly agents: readonly number[] }
  /** Goes back, once, to one of the checkpoints that the line may go back to. */
  | { readonly kind: "back"; readonly to: number }
  /** Sets the execution point, once, to this node or to an earlier one beside it. */
  | { readonly kind: "again"; readonly to: number };

/** What a graph has between its start and its end. */
export type LineStep =
  | { readonly kind: "leaf"; readonly acts: readonly LineAct[] }
  | { readonly kind: "subgraph"; readonly body: LineBody }
  | ({ readonly kind: "parallel"; readonly branches: readonly LineBody[] } & LineJoin)
  | ({
      readonly kind: "each";
      readonly items: number;
      readonly concurrency: number;
      readonly body: LineBody;
    } & LineJoin);

export type LineBody = readonly LineStep[];

/** How branches begin and are joined. */
export interface LineJoin {
  readonly history: "fork" | "fresh";
  readonly onFailure: "finish" | "stop";
  /** What becomes of their messages. A number: that branch is adopted. */
  readonly messages: "append" | "drop" | number;
  readonly merge: readonly LineAct[];
}

/** A process: after how many saves it stops, and what is done from outside before the next. */
export interface LineProcess {
  readonly saves: number;
  /** Absent: nothing is done. */
  readonly backTo?: number | undefined;
  /** So many checkpoints are kept, and two more. Absent: nothing is pruned. */
  readonly prunedTo?: number | undefined;
}

/** A strategy, the processes that run it, and when people answer. */
export interface RandomLines {
  readonly body: LineBody;
  /** The agents that are called. Each may call those after it. */
  readonly agents: readonly LineBody[];
  readonly automatic: boolean;
  /** Of the agents that are called. */
  readonly agentsAutomatic: boolean;
  readonly triggers: boolean;
  /** Whether histories are trimmed. Absent: they are not. */
  readonly trims?: boolean;
  /** For each process whether a trigger is due after every node, while there are triggers. */
  readonly moods: readonly boolean[];
  /** Who says what became of calls in doubt. */
  readonly settledBy: "handler" | "outside";
  /** How often the run may go back. */
  readonly moves: number;
  readonly processes: readonly LineProcess[];
  /** For each answer when it is given: so many events after the question in the process that runs, later, or with the resume. */
  readonly answers: readonly (number | "later" | "resume")[];
}

type PlainKind = Exclude<LineAct["kind"], "consult" | "back" | "again">;

const plainKinds: readonly PlainKind[] = [
  "approve",
  "ask",
  "askTwo",
  "book",
  "book",
  "book",
  "count",
  "fail",
  "foresee",
  "forget",
  "model",
  "name",
  "note",
  "pair",
  "pause",
  "rewrite",
  "save",
  "say",
  "ship",
];
const consultAct: fc.Arbitrary<LineAct> = fc.record({
  kind: fc.constant("consult"),
  agents: fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }),
});
const moveAct: fc.Arbitrary<LineAct> = fc.record({ kind: fc.constantFrom("back", "again"), to: fc.nat(20) });
const actOf = (kinds: readonly PlainKind[]): fc.Arbitrary<LineAct> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constantFrom(...kinds) }) },
    { weight: 2, arbitrary: moveAct },
    { weight: 3, arbitrary: consultAct },
  );

function bodies(depth: number, act: fc.Arbitrary<LineAct>): fc.Arbitrary<LineBody> {
  const leaf = fc.record({ kind: fc.constant("leaf"), acts: fc.array(act, { maxLength: 4 }) });
  if (depth === 0) return fc.array(leaf, { minLength: 1, maxLength: 2 });
  const join = {
    history: fc.constantFrom("fork", "fork", "fresh"),
    onFailure: fc.constantFrom("finish", "stop"),
    messages: fc.oneof(fc.constantFrom("append", "drop"), fc.nat(2)),
    merge: fc.array(act, { maxLength: 2 }),
  } as const;
  const inner = bodies(depth - 1, act);
  const step: fc.Arbitrary<LineStep> = fc.oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("subgraph"), body: inner }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("parallel"),
        branches: fc.array(inner, { minLength: 1, maxLength: 3 }),
        ...join,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("each"),
        items: fc.nat(3),
        concurrency: fc.integer({ min: 1, max: 3 }),
        body: inner,
        ...join,
      }),
    },
  );
  return fc.array(step, { minLength: 1, maxLength: 3 });
}

/** @param depth how deep branches may be nested. @param kinds of what nodes do. */
export const linesOf = (depth: number, kinds = plainKinds): fc.Arbitrary<RandomLines> =>
  fc
    .record({
      body: bodies(depth, actOf(kinds)),
      agents: fc.array(bodies(depth - 1, actOf(kinds)), { maxLength: 2 }),
      automatic: fc.boolean(),
      agentsAutomatic: fc.boolean(),
      triggers: fc.boolean(),
      moods: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
      settledBy: fc.constantFrom("handler", "outside"),
      moves: fc.nat(3),
      processes: fc.array(
        fc.record({ saves: fc.nat(25), backTo: fc.option(fc.nat(20), { nil: undefined, freq: 4 }) }),
        { maxLength: 4 },
      ),
      answers: fc.array(fc.oneof(fc.nat(4), fc.constantFrom("later", "resume")), { minLength: 1, maxLength: 6 }),
    })
    .filter((lines) => lengthOf(lines) <= mostActs);

/** Lines that also write files and so much that snapshots are due, trim their histories, and are pruned between processes. */
export const treesOf = (depth: number): fc.Arbitrary<RandomLines> =>
  fc
    .record({
      lines: linesOf(depth, [...plainKinds, "bulk", "write", "write", "write"]),
      trims: fc.boolean(),
      prunings: fc.array(fc.option(fc.nat(3), { nil: undefined }), { minLength: 4, maxLength: 4 }),
    })
    .map(({ lines, trims, prunings }) => ({
      ...lines,
      trims,
      processes: lines.processes.map((process, at) => ({ ...process, prunedTo: prunings[at] })),
    }));

/** Agents that call agents do much. */
const mostActs = 80;

/** How many acts an undisturbed run has. */
function lengthOf({ body, agents }: Pick<RandomLines, "agents" | "body">): number {
  const callable = agents.reduceRight<readonly number[]>((after, own) => [lengthOfBody(own, after), ...after], []);
  return lengthOfBody(body, callable);
}

function lengthOfBody(body: LineBody, agents: readonly number[]): number {
  return sum(body.map((step) => lengthOfStep(step, agents)));
}

function lengthOfStep(step: LineStep, agents: readonly number[]): number {
  if (step.kind === "leaf") return lengthOfActs(step.acts, agents);
  if (step.kind === "subgraph") return lengthOfBody(step.body, agents);
  const merge = lengthOfActs(step.merge, agents);
  if (step.kind === "each") return merge + step.items * lengthOfBody(step.body, agents);
  return merge + sum(step.branches.map((branch) => lengthOfBody(branch, agents)));
}

function lengthOfActs(acts: readonly LineAct[], agents: readonly number[]): number {
  const calledBy = (act: LineAct): readonly number[] => {
    if (act.kind === "model") return agents.slice(0, 1);
    return act.kind === "consult" ? act.agents.flatMap((each) => agents[each % Math.max(1, agents.length)] ?? []) : [];
  };
  return sum(acts.map((act) => 1 + sum(calledBy(act))));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 1);
