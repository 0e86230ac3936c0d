import { useState } from "preact/hooks";
import type { ComparedRow, ComparedSide } from "../../data/comparedRuns.ts";
import { spentTexts } from "../../layout/durations.ts";
import { MessageBlock } from "../details/Conversation.tsx";
import { TextDifference } from "../details/StateParts.tsx";

interface ComparedStepRowProps {
  readonly step: ComparedRow;
  /** Whether the runs differ first in this step. */
  readonly isFirst: boolean;
}

/** A step of both runs side by side. Opening it shows the differences. */
export function ComparedStepRow({ step, isFirst }: ComparedStepRowProps) {
  const { change, title, before, after } = step;
  const [open, setOpen] = useState(isFirst);
  const isSame = change === "same";
  const sides = (
    <>
      <Side title={title} side={before} />
      <Side title={title} side={after} />
      <span class={`tag ${isSame ? "quiet" : change}`}>{isFirst ? `${change}, first difference` : change}</span>
    </>
  );
  if (isSame) return <li class="pair same">{sides}</li>;
  return (
    <li class={change}>
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary class="pair">{sides}</summary>
        {open && <Differences step={step} />}
      </details>
    </li>
  );
}

function Side({ title, side }: { readonly title: string; readonly side: ComparedSide | undefined }) {
  if (!side) return <span class="side empty">–</span>;
  return (
    <span class="side">
      <span class="node">{title}</span>
      {side.calls.length > 0 && <span class="calls">{side.calls.join(", ")}</span>}
      <span class="spent">{spentTexts(side).join(" · ")}</span>
    </span>
  );
}

function Differences({ step: { messages, parts } }: { readonly step: ComparedRow }) {
  const of = (wanted: "added" | "removed") => messages.filter(({ change }) => change === wanted);
  return (
    <div class="differences">
      {messages.length > 0 && (
        <div class="sides">
          <div class="gone">
            {of("removed").map(({ message }) => (
              <MessageBlock message={message} isNew={false} />
            ))}
          </div>
          <div>
            {of("added").map(({ message }) => (
              <MessageBlock message={message} isNew={false} />
            ))}
          </div>
        </div>
      )}
      {parts.map(({ name, before, after }) => (
        <section class="block">
          <h3>{name}</h3>
          <TextDifference before={before} after={after} />
        </section>
      ))}
    </div>
  );
}
