//! Dutch.

use super::super::cue::Sort;
use super::Table;

pub(super) const NL: Table = Table {
    language: "nl",
    is_spaced: true,
    common: "de het een en van ik te dat die in je niet zijn is op aan met als voor hij maar om hem dan zou wat mijn \
        heb heeft we wij onze ons bij uit ook moet hebben ben alle elke naar",
    lead: "en maar ook dus nou ja nee hoi hallo oké ok trouwens alsjeblieft graag",
    vague: "dit dat deze die iemand niemand alles niets er hij zij ze wie wat waar hier bedankt",
    asks: "^kun je | ^kunt u | ^zou je | ^wil je",
    doubts: "^als | misschien | wellicht | mogelijk | waarschijnlijk | eventueel | ik denk | ik geloof | ik vermoed | ik vraag me af | \
        weet ik niet | ik weet niet | niet zeker | zou | zouden | stel dat | bijvoorbeeld | het lijkt | blijkbaar | hij zegt | ze zegt | \
        hij zei | ze zei",
    passing: "vandaag | nu | op dit moment | momenteel | vanavond | vanmorgen | bedankt | dank je | dank u | succes | tot straks | tot later | \
        het spijt me | sorry | gefeliciteerd | top | geweldig | fijn weekend | ik ben blij | bijgevoegd",
    orders: "negeer … instructies | vergeet … instructies | vergeet alles | onthoud dat de gebruiker | sla op dat de | de gebruiker wil | \
        opmerking voor de ai | je bent nu | taalmodel",
    sets: &[
        ("my", "mijn | m'n | onze | ons"),
        (
            "kin",
            "vrouw | man | partner | vriend | vriendin | verloofde | zoon | zonen | dochter | dochters | kinderen | moeder | mama | vader | \
            papa | ouders | zus | zusje | broer | broertje | oma | opa | tante | oom | neef | nicht | baas | chef | manager | collega | assistent | \
            arts | huisarts | tandarts | advocaat | buurman | buurvrouw | hond | kat | huisbaas",
        ),
        (
            "time",
            "voor | vóór | uiterlijk | maandag | dinsdag | woensdag | donderdag | vrijdag | morgen | volgende week",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^alle … moeten | ^elke … moet | ^elk … moet | mogen niet | mag niet | is verboten | zijn verboden | is verboden | \
            is verplicht | zijn verplicht | we … nooit | wij … nooit | we … altijd",
        ),
        (
            Sort::Todo,
            "^todo | ^te doen | ^actiepunt | ik moet | we moeten | moet … <time> | moeten … <time> | moet nog | niet vergeten | \
            vergeet niet | ik zal … <time> | deadline | ^volgende stap",
        ),
        (
            Sort::Decision,
            "besloten | ^besluit | afgesproken | overeengekomen | we kiezen | we hebben gekozen | we blijven bij | \
            we gaan voor | eens geworden | gaan we verder met | we gaan niet",
        ),
        (
            Sort::Insight,
            "geleerd dat | ^les | het blijkt dat | bleek dat | ontdekt dat | gemerkt dat | ^inzicht | ^conclusie | de oorzaak was",
        ),
        (Sort::Birthday, "mijn verjaardag | ik ben jarig | mijn geboortedatum | ik ben geboren op"),
        (Sort::Name, "mijn naam | ik heet"),
        (
            Sort::Contact,
            "mijn achternaam | mijn voornaam | mijn bijnaam | noem me | noem mij | mijn nummer | mijn telefoonnummer | mijn mobiel | mijn e mail | mijn mailadres | mijn adres | bereikbaar op | \
            bereik me | te bereiken",
        ),
        (
            Sort::Instruction,
            "^antwoord | van nu af aan | voortaan | in het vervolg | ^bel me niet | ^bel me nooit | ^gebruik nooit | ^gebruik altijd | \
            ^gebruik geen | ^altijd | ^nooit | ik wil dat je",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | ik heb een <kin> | ik heb twee <kin> | we hebben twee <kin> | <my> <kin> heet | <my> <kin> is",
        ),
        (
            Sort::Constraint,
            "allergisch | allergie | intolerant | intolerantie | ik eet geen | ik drink geen | ik kan geen … eten | hoogstens | \
            maximaal | niet meer dan | is beperkt | zijn beperkt | beperkt tot | budget is",
        ),
        (
            Sort::Preference,
            "ik heb liever | liever … dan | ik geef de voorkeur | ik hou van | ik houd van | ik haat | ik vind … leuk | ik vind … lekker | \
            ik hou niet van | ik lust geen | ik gebruik altijd | ik gebruik nooit | ik ben vegetariër | ik ben veganist | mijn favoriete | \
            ik … het liefst | ik vermijd | ik ben dol op | ik eet graag | meestal",
        ),
        (
            Sort::Biography,
            "ik woon | ik werk | ik kom uit | ik ben … van beroep | ik studeer | ik spreek | ik ben een | ik ben getrouwd | \
            ik ben verhuisd | ik ben geboren | mijn kantoor | mijn huis | mijn auto | mijn werk | mijn beroep | mijn moedertaal | ik geef les | \
            ik leid | ik speel | ik ben … jaar | ik heb diabetes",
        ),
        (
            Sort::Project,
            "we gebruiken | wij gebruiken | we werken met | ons … is | onze … is | onze … gebruikt | ons … gebruikt | onze … sluit | \
            ons … sluit | onze … heeft | ons … heeft | we hebben … medewerkers | onze … draait | onze … staat | ^correctie :",
        ),
        (
            Sort::Thing,
            "draait op | staat in | ligt in | bevindt zich | is geschreven in | is gebaseerd op | bestaat uit | gebruikt | ondersteunt | \
            sluit om | opent om | begint om | begint op | eindigt op | hoort bij | is verantwoordelijk | werkt als | werkt bij | woont in | spreekt | \
            leidt | kost | vindt plaats | is de directeur | is het hoofd | is gevestigd",
        ),
        (Sort::Idea, "^idee | ^gedachte | ik denk | ik vind | volgens mij | misschien | we zouden"),
    ],
};
