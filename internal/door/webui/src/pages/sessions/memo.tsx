// memo re-renders a component only if a property changed.
import { Component, h, type ComponentChildren, type ComponentType } from "preact";

export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const now = this.props as Record<string, unknown>;
      return Object.entries(next).some(([name, value]) => now[name] !== value);
    }
    override render(): ComponentChildren {
      return h(Inner, this.props as P);
    }
  };
}
