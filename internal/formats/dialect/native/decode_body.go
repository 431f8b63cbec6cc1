package native

import "firn.dev"

// Each of these methods reads one member of the body it is named after. It returns false,
// with the value not consumed, if the member does not belong to the body. It sets hasBody
// on the body's essential member.

func (d *decoder) compaction(b *firn.Compaction) bool {
	switch string(d.r.Key()) {
	case "summary":
		return d.essential(text(&d.r, &b.Summary))
	case "firstKeptEntryId":
		return d.target(&b.FirstKept)
	case "tokensBefore":
		return integer(&d.r, &b.TokensBefore)
	case "details":
		b.Details = d.raw()
		return true
	case "fromHook":
		return boolean(&d.r, &b.FromHook)
	}
	return false
}

func (d *decoder) branchSummary(b *firn.BranchSummary) bool {
	switch string(d.r.Key()) {
	case "fromId":
		return text(&d.r, &b.From)
	case "summary":
		return d.essential(text(&d.r, &b.Summary))
	case "details":
		b.Details = d.raw()
		return true
	case "fromHook":
		return boolean(&d.r, &b.FromHook)
	}
	return false
}

func (d *decoder) tombstone(b *firn.Tombstone) bool {
	switch string(d.r.Key()) {
	case "targetId":
		return d.essential(d.target(&b.Target))
	case "reason":
		return text(&d.r, &b.Reason)
	}
	return false
}

func (d *decoder) label(b *firn.Label) bool {
	switch string(d.r.Key()) {
	case "targetId":
		return d.essential(d.target(&b.Target))
	case "label":
		return text(&d.r, &b.Name)
	}
	return false
}

func (d *decoder) title(b *firn.Title) bool {
	switch string(d.r.Key()) {
	case "name":
		return text(&d.r, &b.Name)
	case "source":
		return text(&d.r, &b.Source)
	}
	return false
}

func (d *decoder) modelChange(b *firn.ModelChange) bool {
	switch string(d.r.Key()) {
	case "provider":
		return text(&d.r, &b.Provider)
	case "modelId":
		return d.essential(text(&d.r, &b.Model))
	}
	return false
}

func (d *decoder) thinkingChange(b *firn.ThinkingChange) bool {
	return string(d.r.Key()) == "thinkingLevel" && d.essential(text(&d.r, &b.Level))
}

func (d *decoder) custom(b *firn.Custom) bool {
	switch string(d.r.Key()) {
	case "customType":
		return d.essential(text(&d.r, &b.Type))
	case "data":
		b.Data = d.raw()
		return true
	}
	return false
}

func (d *decoder) customMessage(b *firn.CustomMessage) bool {
	switch string(d.r.Key()) {
	case "customType":
		return text(&d.r, &b.Type)
	case "content":
		return d.essential(d.parts(&b.Parts, nil))
	case "display":
		return boolean(&d.r, &b.Display)
	case "details":
		b.Details = d.raw()
		return true
	}
	return false
}

// essential records that the essential member of the entry was read.
func (d *decoder) essential(ok bool) bool {
	if ok {
		d.seen |= hasBody
	}
	return ok
}

// target reads the ID of another entry that the tree depends on.
func (d *decoder) target(field *firn.EntryID) bool {
	d.markOnce(hasTarget)
	return text(&d.r, field)
}
