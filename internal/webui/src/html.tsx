// Html is where HTML of the gateway enters a page. All of it was made there from
// plain text and has passed a sanitizer. The browser is told to take HTML from
// nowhere else: this is the one policy that the pages have.

interface Policy {
  createHTML: (html: string) => string;
}

const factory = (window as { trustedTypes?: { createPolicy: (name: string, rules: Policy) => Policy } }).trustedTypes;
const policy: Policy = factory?.createPolicy("firn", { createHTML: (html) => html }) ?? { createHTML: (html) => html };

// trusted is HTML of the gateway, as the browser takes it.
export function trusted(html: string): string {
  return policy.createHTML(html);
}

interface Props {
  html: string;
  class?: string;
}

export function Html({ html, class: name }: Props) {
  return <div class={name} dangerouslySetInnerHTML={{ __html: trusted(html) }} />;
}
