import type { TimelineStep } from "../../data/TimelineData.ts";
import { stateAtStep, stateDifference } from "../../layout/stateAtStep.ts";
import { MessageBlock } from "./Conversation.tsx";
import { TextDifference, FileBlock } from "./StateParts.tsx";
import { titleOf } from "../list/StepRow.tsx";
import { timeText } from "../../layout/durations.ts";

interface StepComparisonProps {
  readonly from: TimelineStep;
  readonly to: TimelineStep;
  readonly steps: ReadonlyMap<string, TimelineStep>;
  readonly onClose: () => void;
}

export function StepComparison({ from, to, steps, onClose }: StepComparisonProps) {
  const { same, removed, added, values, files } = stateDifference(stateAtStep(from, steps), stateAtStep(to, steps));
  const isSame = removed.length + added.length + values.size + files.length === 0;
  return (
    <>
      <header>
        <div class="title">
          <h2 tabIndex={-1}>What differs</h2>
          <button type="button" class="close" onClick={onClose} aria-label="Close the comparison">
            ×
          </button>
        </div>
        <p class="facts">
          <Side step={from} /> → <Side step={to} />
        </p>
      </header>
      <div class="content" role="region" aria-label="Differences" tabIndex={0}>
        {isSame && <p class="empty">The steps are the same.</p>}
        {removed.length + added.length > 0 && (
          <section class="block">
            <h3>{`Messages: ${same} the same, ${removed.length} removed, ${added.length} added`}</h3>
            <div class="conversation">
              {removed.slice(-100).map((message) => (
                <div class="gone">
                  <MessageBlock message={message} isNew={false} />
                </div>
              ))}
              {added.slice(-100).map((message) => (
                <MessageBlock message={message} isNew />
              ))}
            </div>
          </section>
        )}
        {[...values].map(([name, [before, after]]) => (
          <section class="block">
            <h3>{name}</h3>
            <TextDifference before={before} after={after} />
          </section>
        ))}
        {files.map((file) => (
          <FileBlock file={file} />
        ))}
      </div>
    </>
  );
}

function Side({ step }: { readonly step: TimelineStep }) {
  return (
    <span>
      {titleOf(step)} <code>{step.checkpoint ?? "not saved"}</code> {timeText(step.at)}
    </span>
  );
}
