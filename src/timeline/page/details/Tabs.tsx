import type { ComponentChildren } from "preact";

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly names: readonly Name[];
  readonly counts: Readonly<Partial<Record<Name, number>>>;
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
  readonly children: ComponentChildren;
}

/** Tabs with support for arrow keys. */
export function Tabs<Name extends string>({ label, names, counts, chosen, onChoose, children }: TabsProps<Name>) {
  const step = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const name = names.at((names.indexOf(chosen) + by) % names.length);
    if (by === 0 || name === undefined) return;
    event.preventDefault();
    onChoose(name);
    document.getElementById(`tab-${name}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={step}>
        {names.map((name) => (
          <button
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls="tab-content"
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {name}
            {(counts[name] ?? 0) > 0 && <small>{counts[name]}</small>}
          </button>
        ))}
      </div>
      <div class="content" id="tab-content" role="tabpanel" aria-labelledby={`tab-${chosen}`} tabIndex={0}>
        {children}
      </div>
    </>
  );
}
