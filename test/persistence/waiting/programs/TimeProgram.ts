import fc from "fast-check";

/** One thing that a node does. */
export interface Act {
  readonly kind: "book" | "sleep" | "sleep long" | "nap" | "receive" | "receive none" | "race";
  readonly ms: number;
}

/** A node of acts, branches of such nodes, a list, or a called agent. */
export type Step =
  | { readonly kind: "leaf" | "agent"; readonly acts: readonly Act[] }
  | { readonly kind: "parallel"; readonly branches: readonly (readonly Act[])[] }
  | { readonly kind: "each"; readonly items: number; readonly acts: readonly Act[] };

/** What happens between two runs or during a run. A process that saves crashes after `saves` saves. */
export interface Disturbance {
  readonly kind: "run" | "two runs" | "send" | "send again" | "stop" | "stop a run" | "wait" | "jump" | "roll back";
  readonly saves: number;
  readonly at: number;
}

/** A program with timers and events, and the disturbances of its run. */
export interface TimeProgram {
  readonly steps: readonly Step[];
  readonly disturbances: readonly Disturbance[];
}

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom("book", "sleep", "sleep long", "nap", "receive", "receive", "receive none", "race"),
  ms: fc.integer({ min: 1, max: 9 }),
});
const acts = fc.array(act, { minLength: 1, maxLength: 3 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("leaf"), acts }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("agent"), acts }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("parallel"), branches: fc.array(acts, { minLength: 2, maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("each"), items: fc.integer({ min: 1, max: 3 }), acts }) },
);

const disturbance = (kind: Disturbance["kind"], most: number): fc.Arbitrary<Disturbance> =>
  fc.record({ kind: fc.constant(kind), saves: fc.integer({ min: 0, max: most }), at: fc.nat(9) });

export const timeProgram: fc.Arbitrary<TimeProgram> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  disturbances: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: disturbance("run", 16) },
      { weight: 1, arbitrary: disturbance("two runs", 16) },
      { weight: 2, arbitrary: disturbance("send", 4) },
      { weight: 1, arbitrary: disturbance("send again", 2) },
      { weight: 1, arbitrary: disturbance("stop", 2) },
      { weight: 2, arbitrary: disturbance("stop a run", 16) },
      { weight: 2, arbitrary: disturbance("wait", 0) },
      { weight: 1, arbitrary: disturbance("jump", 0) },
      { weight: 1, arbitrary: disturbance("roll back", 12) },
    ),
    { maxLength: 12, size: "max" },
  ),
});
