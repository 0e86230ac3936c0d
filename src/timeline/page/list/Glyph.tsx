import type { JSX } from "preact";
import { stateNames, type StepState } from "../../layout/shownItems.ts";

/** The marks in the list that show no state of a step. */
export type MarkName = "run" | "rollback" | "owner" | "crash" | "note" | "damage" | "move" | "end";

/** Shapes in a square of 16, centered on 0. The shapes differ, so that states are recognizable without color. */
const shapes: Readonly<Record<StepState | MarkName, JSX.Element>> = {
  done: <circle r="4.5" class="fill" />,
  succeeded: (
    <>
      <circle r="7" class="fill" />
      <path d="M-3.2 .2 -1 2.6 3.2-2.4" class="ink" />
    </>
  ),
  irreversible: (
    <>
      <path d="M-3.6-7h7.2L7.2 0 3.6 7h-7.2L-7.2 0z" class="fill" />
      <path d="M-3.2 .2 -1 2.6 3.2-2.4" class="ink" />
    </>
  ),
  failed: (
    <>
      <rect x="-6.5" y="-6.5" width="13" height="13" rx="2" class="fill" />
      <path d="M-2.8-2.8 2.8 2.8M2.8-2.8-2.8 2.8" class="ink" />
    </>
  ),
  in_doubt: (
    <>
      <path d="M0-8 8 0 0 8-8 0z" class="fill" />
      <path d="M-2-1.4C-2-4.2 2.2-4.2 2.2-1.6 2.2 0 0 0 0 1.6M0 3.9v.2" class="ink" />
    </>
  ),
  waiting: (
    <>
      <circle r="6.2" class="ring" />
      <path d="M-2-2.6v5.2M2-2.6v5.2" class="line" />
    </>
  ),
  reverted: (
    <>
      <circle r="6.2" class="ring dashed" />
      <path d="M3 2.6C4-1.6.6-2.2-2.6-1.8M-.8-4-3-1.8-.4.2" class="line" />
    </>
  ),
  kept: (
    <>
      <path d="M-3.6-7h7.2L7.2 0 3.6 7h-7.2L-7.2 0z" class="ring dashed" />
      <path d="M-3.2 .2 -1 2.6 3.2-2.4" class="line" />
    </>
  ),
  running: (
    <>
      <circle r="6.2" class="ring" />
      <path d="M0-3.6A3.6 3.6 0 0 1 0 3.6z" class="fill" />
    </>
  ),
  cut: (
    <>
      <path d="M-6.2 3A7 7 0 0 1 3-6.2M6.2-3A7 7 0 0 1-3 6.2" class="line" />
      <path d="M-3.4 3.4 3.4-3.4" class="line" />
    </>
  ),
  run: <path d="M-4-6 6 0-4 6z" class="fill" />,
  rollback: <path d="M-1-7-6-2.5-1 2M-6-2.5H2.5A4 4 0 0 1 2.5 6H-2" class="line thick" />,
  owner: <path d="M-6.5 6C-6.5 1.6 6.5 1.6 6.5 6zM0-7A3.2 3.2 0 1 1 0-.6 3.2 3.2 0 1 1 0-7z" class="fill" />,
  crash: <path d="M1.5-8-5.5 1.2H-.6L-2 8 5.5-1.8H.6z" class="fill" />,
  note: <rect x="-4" y="-4" width="8" height="8" rx="1.5" class="ring" />,
  damage: (
    <>
      <path d="M0-7.5 8 6.5H-8z" class="fill" />
      <path d="M0-2.6V1.8M0 4v.2" class="ink" />
    </>
  ),
  move: <path d="M-6 0H5M1-4.2 5.4 0 1 4.2" class="line thick" />,
  end: (
    <>
      <circle r="7" class="ring" />
      <circle r="3.6" class="fill" />
    </>
  ),
};

export function GlyphMark({ of, x, y }: { readonly of: StepState | MarkName; readonly x: number; readonly y: number }) {
  return (
    <g class={`glyph ${of}`} transform={`translate(${x} ${y})`}>
      {shapes[of]}
    </g>
  );
}

/** A mark in a line of text. Screen readers skip it, because the text describes the mark. */
export function Glyph({ of }: { readonly of: StepState | MarkName }) {
  return (
    <svg class="mark" viewBox="-9 -9 18 18" width="16" height="16" aria-hidden="true">
      <GlyphMark of={of} x={0} y={0} />
    </svg>
  );
}

export function StateLabel({ state }: { readonly state: StepState }) {
  return (
    <span class={`state ${state}`}>
      <Glyph of={state} />
      {stateNames[state]}
    </span>
  );
}
