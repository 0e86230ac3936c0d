import type { Act, Step } from "./TimeProgram.ts";

/** An event that a program receives. */
export interface ProgramEvent {
  readonly name: string;
  readonly payload: string;
}

/** The path of an act, which its event has as its name. All leaves receive events of one name, in order. */
export function pathOf({ kind }: Act, step: Step["kind"], within: string, at: number): string {
  return step === "leaf" && kind === "receive" ? "leaf" : `${within}.${at}`;
}

/** Returns the events that a program needs, in the order of their sends. Every other race has an event, too. */
export function eventsFor(steps: readonly Step[]): readonly ProgramEvent[] {
  return steps.flatMap(actsOf).flatMap(({ act, path }, number) => {
    if (act.kind === "receive") return [{ name: path, payload: `event ${number}` }];
    const hasEvent = act.kind === "race" && act.ms % 2 === 0;
    return hasEvent ? [{ name: `race ${path}`, payload: `event ${number}` }] : [];
  });
}

function actsOf(step: Step, at: number): readonly { readonly act: Act; readonly path: string }[] {
  const groups: readonly (readonly [string, readonly Act[]])[] =
    step.kind === "parallel"
      ? step.branches.map((acts, branch) => [`n${at}b${branch}`, acts])
      : step.kind === "each"
        ? Array.from({ length: step.items }, (_, item) => [`n${at}i${item}`, step.acts])
        : [[`n${at}`, step.acts]];
  return groups.flatMap(([within, acts]) =>
    acts.map((act, number) => ({ act, path: pathOf(act, step.kind, within, number) })),
  );
}
