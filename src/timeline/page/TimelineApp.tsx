import { useMemo, useState } from "preact/hooks";
import type { TimelineData, TimelineItem } from "../data/TimelineData.ts";
import { shownItems, toolsIn, type TimelineFilter, stepStates } from "../layout/shownItems.ts";
import { stepsByKey } from "../layout/stateAtStep.ts";
import { StepComparison } from "./details/StepComparison.tsx";
import { Details, MarkDetails } from "./details/Details.tsx";
import { TimelineList } from "./list/TimelineList.tsx";
import type { Choice } from "../layout/Choice.ts";
import { Toolbar } from "./Toolbar.tsx";
import { useChoice, useKeys } from "./useChoice.ts";

interface TimelineAppProps {
  readonly data: TimelineData;
  /** Whether updates arrive. `undefined` for a static file. */
  readonly live?: boolean | undefined;
}

const everything: TimelineFilter = { text: "", states: new Set(), tool: "" };

export function TimelineApp({ data, live }: TimelineAppProps) {
  const { agent, items } = data;
  const [filter, setFilter] = useState(everything);
  const { choice, choose, open, compare, close, back } = useChoice();
  const shown = useMemo(() => shownItems(items, filter), [items, filter]);
  const tools = useMemo(() => toolsIn(items), [items]);
  const states = useMemo(() => new Set(items.flatMap((item) => [...stepStates(item)])), [items]);
  useKeys({
    keys: useMemo(() => shown.map(({ key }) => key), [shown]),
    chosen: choice.chosen,
    onChoose: choose,
    onOpen: open,
    onEscape: back,
  });
  return (
    <>
      <Toolbar
        agent={agent}
        filter={filter}
        tools={tools}
        states={states}
        counts={[shown.length, items.length]}
        live={live}
        onFilter={setFilter}
        onTheme={changeTheme}
      />
      <main class={choice.open && !choice.comparing ? "open" : ""}>
        {shown.length === 0 ? (
          <p class="nothing">{items.length === 0 ? "Nothing has happened yet." : "Nothing matches."}</p>
        ) : (
          <TimelineList
            items={shown}
            head={agent.head}
            chosen={choice.chosen}
            other={choice.other}
            onChoose={(key, second) => choose(key, second, true)}
          />
        )}
        <aside aria-label="Details">
          <Side items={items} choice={choice} onCompare={compare} onClose={close} />
        </aside>
      </main>
    </>
  );
}

interface SideProps {
  readonly items: readonly TimelineItem[];
  readonly choice: Choice;
  readonly onCompare: () => void;
  readonly onClose: () => void;
}

function Side({ items, choice, onCompare, onClose }: SideProps) {
  const steps = useMemo(() => stepsByKey(items), [items]);
  const byKey = useMemo(() => new Map(items.map((item) => [item.key, item])), [items]);
  const item = byKey.get(choice.chosen ?? "");
  const other = steps.get(choice.other ?? "");
  if (choice.comparing) return <p class="nothing">Choose the step to compare with.</p>;
  if (item === undefined) return <Help />;
  if (item.kind !== "step") return <MarkDetails item={item} onClose={onClose} />;
  if (other !== undefined) return <StepComparison from={other} to={item} steps={steps} onClose={onClose} />;
  return <Details step={item} steps={steps} onCompare={onCompare} onClose={onClose} />;
}

function Help() {
  return (
    <div class="nothing">
      <p>Choose a step to see its messages, input, storage, files and records.</p>
      <p>
        <kbd>↑</kbd> <kbd>↓</kbd> go through the steps, <kbd>Shift</kbd> with them compares two, <kbd>Enter</kbd> goes
        to the details, <kbd>/</kbd> searches, <kbd>Esc</kbd> goes back to the list.
      </p>
    </div>
  );
}

function changeTheme(): void {
  const root = document.documentElement;
  const systemTheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset["theme"] = (root.dataset["theme"] ?? systemTheme) === "dark" ? "light" : "dark";
}
