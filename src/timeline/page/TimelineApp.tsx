import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { TimelineData, TimelineItem } from "../data/TimelineData.ts";
import { shownItems, toolsIn, type TimelineFilter } from "../layout/shownItems.ts";
import { stepsByKey } from "../layout/stateAt.ts";
import { statesOf } from "../layout/stepState.ts";
import { Comparison } from "./details/Comparison.tsx";
import { Details } from "./details/Details.tsx";
import { MarkDetails } from "./details/MarkDetails.tsx";
import { TimelineList } from "./list/TimelineList.tsx";
import { Toolbar } from "./Toolbar.tsx";

interface TimelineAppProps {
  readonly data: TimelineData;
  /** Whether news arrives. Absent: the page is a file. */
  readonly live?: boolean | undefined;
}

interface Choice {
  readonly chosen?: string | undefined;
  readonly other?: string | undefined;
  /** The next one that is chosen is the second. */
  readonly comparing?: boolean;
}

const everything: TimelineFilter = { text: "", states: new Set(), tool: "" };

/** The whole page. */
export function TimelineApp({ data, live }: TimelineAppProps) {
  const { agent, items } = data;
  const [filter, setFilter] = useState(everything);
  const [choice, setChoice] = useState<Choice>({});
  const shown = useMemo(() => shownItems(items, filter), [items, filter]);
  const tools = useMemo(() => toolsIn(items), [items]);
  const states = useMemo(() => new Set(items.flatMap((item) => [...statesOf(item)])), [items]);
  useKeys(() => setChoice({}));
  const choose = (key: string, second: boolean): void => {
    const isSecond = (second || choice.comparing) && choice.chosen !== undefined && choice.chosen !== key;
    setChoice(isSecond ? { chosen: key, other: choice.other ?? choice.chosen } : { chosen: key });
  };
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
      <main class={choice.chosen === undefined || choice.comparing ? "" : "open"}>
        {shown.length === 0 ? (
          <p class="nothing">{items.length === 0 ? "Nothing has happened yet." : "Nothing matches."}</p>
        ) : (
          <TimelineList
            items={shown}
            head={agent.head}
            chosen={choice.chosen}
            other={choice.other}
            onChoose={choose}
            onOpen={() => document.querySelector<HTMLElement>("aside h2")?.focus()}
          />
        )}
        <aside aria-label="Details">
          <Side
            items={items}
            choice={choice}
            onCompare={() => setChoice({ ...choice, comparing: true })}
            onClose={() => setChoice({})}
          />
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
  if (other !== undefined) return <Comparison from={other} to={item} steps={steps} onClose={onClose} />;
  return <Details step={item} steps={steps} onCompare={onCompare} onClose={onClose} />;
}

function Help() {
  return (
    <div class="nothing">
      <p>Choose a step to see its messages, input, storage, files and records.</p>
      <p>
        <kbd>↑</kbd> <kbd>↓</kbd> go through the steps, <kbd>Shift</kbd> with them compares two, <kbd>Enter</kbd> goes
        to the details, <kbd>/</kbd> searches, <kbd>Esc</kbd> closes.
      </p>
    </div>
  );
}

/** Keys that work everywhere on the page, from the first moment on. */
function useKeys(onEscape: () => void): void {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isTyping = (event.target as Element).closest("input, select") !== null;
      if (event.key === "Escape") {
        onEscape();
        document.querySelector<HTMLElement>(".list")?.focus();
      } else if (event.key === "/" && !isTyping) {
        event.preventDefault();
        document.getElementById("search")?.focus();
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

function changeTheme(): void {
  const root = document.documentElement;
  root.dataset["theme"] = (root.dataset["theme"] ?? systemTheme()) === "dark" ? "light" : "dark";
}

function systemTheme(): string {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
