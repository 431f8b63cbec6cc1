// Help lists the active keyboard shortcuts.
import { bound, keyName } from "./keys";
import { Dialog } from "./ui";

export function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={close} class="help">
      {bound().map((group) => (
        <section key={group.name}>
          <h3>{group.name}</h3>
          <dl class="help-list">
            {group.bindings.map((b) => (
              <div key={b.key}>
                <dt>
                  {b.key.split(" ").map((k) => (
                    <kbd key={k}>{keyName(k)}</kbd>
                  ))}
                </dt>
                <dd>{b.does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
